# SPDX-License-Identifier: MIT
# The charts of docs/benchmarks.md, from the CSV files of the current folder (scripts/bench-charts).
set terminal svg size 1000,420 font "sans,11" background "white"
set datafile separator whitespace

# pawl in red, its own yardsticks in grey and brown, libraries in blue and green, the kernel in violet.
colour(p) = p eq "pawl-1" ? "#d62728" : p eq "pawl-8" ? "#ff7f0e" : p eq "plain" ? "#555555" : \
    p eq "heap-2" ? "#8c564b" : p eq "heap-4" ? "#c49c94" : p eq "marked-heap" ? "#bcbd22" : \
    p eq "libuv" ? "#1f77b4" : p eq "libev" ? "#17becf" : p eq "libevent" ? "#2ca02c" : \
    p eq "libevent-common" ? "#98df8a" : p eq "glib" ? "#aec7e8" : p eq "timerfd" ? "#9467bd" : \
    p eq "timer_create" ? "#c5b0d5" : p eq "null" ? "#cccccc" : "#000000"
width(p) = p[1:4] eq "pawl" ? 3 : 1.5

# N, median, least and greatest of one peer in one workload.
figures(workload, object, peer) = sprintf("< awk -F, '$2 == \"%s\" && $3 == %s && $5 == \"%s\" \
    { print $4, $7, $8, $9 }' wheel.csv", workload, object, peer)

# A line is a peer, or another workload of it: "bounded:pawl-1".
peer(line) = substr(line, strstrt(line, ":") + 1, strlen(line))
dashes(line) = strstrt(line, ":") ? 2 : 1
of(line, workload) = strstrt(line, ":") ? substr(line, 1, strstrt(line, ":") - 1) : workload

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

do for [workload in "arm cancel churn expire refresh longest"] {
    if (words(objects(workload)) == 0) { continue }
    set output workload.".svg"
    set xrange [fewest(workload):most(workload)]
    set ylabel (workload eq "longest" ? "ns, the longest single advance" : "ns, median; bars: least to greatest")
    set multiplot layout 1,words(objects(workload))
    do for [object in objects(workload)] {
        set title workload.", objects of ".object." bytes"
        lines = measured(workload, object)
        if (workload eq "longest") { lines = lines.system("echo '".measured("bounded", object)."' | sed 's/^./ bounded:&/'") }
        plot for [l in lines] figures(of(l, workload), object, peer(l)) using 1:2:3:4 \
            with yerrorlines lc rgb colour(peer(l)) lw width(peer(l)) dt dashes(l) pt 7 ps 0.4 title l noenhanced
    }
    unset multiplot
}
set autoscale x

# The user's view: CPU of a message, a group of bars for each number of connections.
if (system("test -s connections.csv && echo yes") eq "yes") {
    set output "connections.svg"
    unset logscale
    set format x "%g"
    set style data histograms
    set style histogram errorbars gap 1 lw 1
    set style fill solid 0.8 border -1
    set yrange [0:*]
    set title "idle connections whose timeout is refreshed at each message"
    set xlabel "connections"
    set ylabel "CPU ms for a million messages"
    loops = system("awk -F, '/^connections/ && !seen[$5]++ { print $5 }' connections.csv")
    plot for [p in loops] sprintf("< awk -F, '$5 == \"%s\" { print $4, $7, $8, $9 }' connections.csv", p) \
        using 2:3:4:xtic(1) title p noenhanced
    set style data lines
    set autoscale y
}

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
            using 1:2 with linespoints lw 2 pt 7 ps 0.4 title p noenhanced
    }
    unset multiplot
}

# The purgatory: a group of bars for each cell, and one for each pace.
if (system("test -s purgatory.csv && echo yes") eq "yes") {
    set output "purgatory.svg"
    bar(p) = p eq "kafka" ? "#1f77b4" : p eq "pawl-bytes" ? "#ff7f0e" : "#d62728"
    unset logscale
    set autoscale
    set yrange [0:*]
    set format "%g"
    set style data histograms
    set style histogram errorbars gap 1 lw 1
    set style fill solid 0.8 border -1
    set ylabel "thousands a second"
    set xtics font ",9"
    set multiplot
    set size 0.62,1
    set origin 0,0
    set key inside right top
    set title "unpaced"
    set bmargin 6
    set xlabel "keys; threads; pending a thread" offset 0,-1.5
    plot for [p in "pawl-kept pawl-bytes kafka"] sprintf("< awk -F, '$2 ~ /^unpaced/ && $5 == \"%s\" \
        { split($2, w, \" \"); print w[2], w[4], $4, $7, $8, $9 }' purgatory.csv", p) \
        using 4:5:6:xtic(sprintf("%s\n%s\n%s", strcol(1), strcol(2), strcol(3))) lc rgb bar(p) title p noenhanced
    set size 0.38,1
    set origin 0.62,0
    set title "paced: the highest rate held"
    set xlabel "timeout/p75/p50, ms"
    plot for [p in "pawl-kept pawl-bytes kafka"] sprintf("< awk -F, '$2 ~ /^paced [0-9\\/]*$/ && $5 == \"%s\" \
        { print substr($2, 7), $7, $8, $9 }' purgatory.csv", p) using 2:3:4:xtic(1) \
        lc rgb bar(p) title p noenhanced
    unset multiplot
}
