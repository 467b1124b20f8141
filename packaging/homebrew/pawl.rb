# SPDX-License-Identifier: MIT
# There is no address of a release yet, so only the head: brew install --HEAD pawl.rb
class Pawl < Formula
  desc "Delayed work for C: timing wheel and timers for many threads"
  homepage "https://pawl.example/"
  license "MIT"
  head "https://pawl.example/pawl.git", branch: "main"

  depends_on "cmake" => :build

  def install
    system "cmake", "-S", ".", "-B", "build", "-DPAWL_EXAMPLES=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    (testpath/"test.c").write <<~C
      #include <pawl/wheel.h>
      #include <stdlib.h>

      int main(void)
      {
        size_t size = pawl_wheel_footprint(NULL);
        struct pawl_wheel *wheel = pawl_wheel_init(malloc(size), size, NULL);
        struct pawl_timer timer = {0};

        pawl_wheel_arm_at(wheel, &timer, 450);
        pawl_wheel_advance(wheel, 450, 0);
        return pawl_wheel_pop(wheel) != &timer;
      }
    C
    system ENV.cc, "test.c", "-I#{include}", "-L#{lib}", "-lpawl", "-o", "test"
    system "./test"
  end
end
