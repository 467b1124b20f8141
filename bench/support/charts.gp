# SPDX-License-Identifier: MIT
# The charts of docs/benchmarks.md, from the CSV files of the current directory (scripts/bench-charts).
set terminal svg size 1000,420 font "sans,11" background "white"
set datafile separator whitespace

# pawl in red, its own yardsticks in grey and brown, libraries in blue and green, the kernel in violet.
colour(p) = p eq "pawl-1" ? "#d62728" : p eq "pawl-8" ? "#ff7f0e" : p eq "plain" ? "#555555" : \
    p eq "heap-2" ? "#8c564b" : p eq "heap-4" ? "#c49c94" : p eq "marked-heap" ? "#bcbd22" : \
    p eq "libuv" ? "#1f77b4" : p eq "libev" ? "#17becf" : p eq "libevent" ? "#2ca02c" : \
    p eq "libevent-common" ? "#98df8a" : p eq "glib" ? "#aec7e8" : p eq "timerfd" ? "#9467bd" : \
    p eq "timer_create" ? "#c5b0d5" : p eq "null" ? "#cccccc" : "#000000"
width(p) = p[1:4] eq "pawl" ? 3 : 1.5

# N and median of one peer in one workload.
figures(workload, object, peer) = sprintf("< awk -F, '$2 == \"%s\" && $3 == %s && $5 == \"%s\" \
    { print $4, $7 }' wheel.csv", workload, object, peer)

# The object sizes and peers that the CSV file has.
objects(workload) = system(sprintf("awk -F, '$2 == \"%s\" && !seen[$3]++ { print $3 }' wheel.csv | sort -n", workload))
measured(workload, object) = system(sprintf("awk -F, '$2 == \"%s\" && $3 == %s && $5 != \"plain-again\" && \
    !seen[$5]++ { print $5 }' wheel.csv", workload, object))

# From the fewest timers to the most, with a margin: a single number alone would give an empty range.
fewest(workload) = system(sprintf("awk -F, '$2 == \"%s\" { print $4 }' wheel.csv | sort -n | head -n 1", workload)) / 1.5
most(workload) = system(sprintf("awk -F, '$2 == \"%s\" { print $4 }' wheel.csv | sort -n | tail -n 1", workload)) * 1.5

set logscale xy
set format x "10^{%L}"
set grid ytics lc rgb "#dddddd"
set key outside right top samplen 2
set xlabel "timers"

if (words(objects("expire")) > 0) {
    set output "expire.svg"
    set xrange [fewest("expire"):most("expire")]
    set ylabel "ns, median"
    set multiplot layout 1,words(objects("expire"))
    do for [object in objects("expire")] {
        set title "expire, objects of ".object." bytes"
        plot for [p in measured("expire", object)] figures("expire", object, p) \
            with lines lc rgb colour(p) lw width(p) title p noenhanced
    }
    unset multiplot
}
set autoscale x

# Lateness: the share of tasks that are later than this.
if (system("grep -q '^service,late' service.csv 2>/dev/null && echo yes") eq "yes") {
    set output "lateness.svg"
    set logscale xy
    set format y "%g"
    set xlabel "later than, us"
    set ylabel "share of the tasks"
    set yrange [1e-5:1]
    services = system("awk -F, '/^service,late/ && !seen[$5]++ { print $5 }' service.csv")
    set multiplot layout 1,2
    do for [rate in "10000 100000"] {
        set title rate." tasks a second"
        plot for [p in services] sprintf("< awk -F, '$2 ~ /^late p/ && $4 == %s && $5 == \"%s\" \
            { q = substr($2, 7) / 100; if (q < 1 && $7 > 0) print $7 / 1000, 1 - q }' service.csv", rate, p) \
            using 1:2 with lines lw 2 title p noenhanced
    }
    unset multiplot
}
