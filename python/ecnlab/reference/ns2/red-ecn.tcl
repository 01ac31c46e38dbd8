# Ten endless TCP flows through RED behind a link whose delay varies, with or without bursts of datagrams beside them, for ns-2 2.35
# (Debian package `ns2`): the two networks of the study of when ECN helps RED.
#
#   ns red-ecn.tcl [delay=MILLISECONDS] [ecn=0|1] [bursts=N] [seed=N]
#   ns red-ecn.tcl [rate=BPS] [packet=BYTES] [tcp=Reno|Newreno|Sack1]    what else was tried
#   ns red-ecn.tcl [spread=SECONDS]    lengthens each TCP flow's access delay by a draw of up to so much, so that packets do not tie
#
# sources -1 Mbps, 10 ms- R1 -10 Mbps, delay- R2 -1.5 Mbps, 10 ms- R3 -10 Mbps, 10 ms- sinks, each flow with links of its own at both ends;
# 25 packets wait at each router, and where R2 sends to R3 stands RED: packets mode, thresholds 6 and 18, w_q 0.002, max_p 0.1, gentle off,
# mean packet 500 bytes for the idle estimate, use_mark_p_ off. Reno from 0 s on, 1000 bytes on the wire, no limit on the window, other
# parameters of TCP as 2.35 has them; 100 s. bursts=8 is experiment 2: eight sources of datagrams of 1000 bytes over links of 10 Mbps and
# 10 ms, 100 kbps while they send, which and the pauses between last 2.5 s in the mean; they begin 0.1 s apart.
#
# Prints one line of `key value` pairs: goodput of a TCP flow in kbps and Jain's index from what is acknowledged at the end, drops and
# marks at RED, and timeouts.
array set option {delay 50 ecn 0 bursts 0 seed 1 rate 1.5e6 packet 1000 tcp Reno spread 0 end 100.0}
foreach word $argv {
    if {![regexp {^([a-z]+)=(.+)$} $word -> key value] || ![info exists option($key)]} {
        puts stderr "red-ecn.tcl: $word: expected one of [lsort [array names option]] as key=value"
        exit 2
    }
    set option($key) $value
}
Agent/TCP set packetSize_ [expr {$option(packet) - 40}]
Agent/TCP set window_ 10000
Agent/TCP set ecn_ $option(ecn)
foreach {name value} [list thresh_ 6 maxthresh_ 18 linterm_ 10 q_weight_ 0.002 bytes_ false queue_in_bytes_ false gentle_ false \
        wait_ true setbit_ $option(ecn) use_mark_p_ false adaptive_ 0 mean_pktsize_ 500] {
    Queue/RED set $name $value
}
set ns [new Simulator]
$defaultRNG seed $option(seed)
foreach router {R1 R2 R3} { set $router [$ns node] }
$ns duplex-link $R1 $R2 10e6 [expr {$option(delay) / 1e3}] DropTail
$ns simplex-link $R2 $R3 $option(rate) 0.010 RED
$ns simplex-link $R3 $R2 $option(rate) 0.010 DropTail
foreach {from to} [list $R1 $R2 $R2 $R1 $R2 $R3 $R3 $R2] { $ns queue-limit $from $to 25 }
set monitor [$ns monitor-queue $R2 $R3 ""]

set spreads [new RNG]
$spreads next-substream
proc hosts {rate {delay 0.010}} {
    global ns R1 R3
    set source [$ns node]
    set sink [$ns node]
    $ns duplex-link $source $R1 $rate $delay DropTail
    $ns queue-limit $source $R1 25
    $ns duplex-link $R3 $sink 10e6 0.010 DropTail
    return [list $source $sink]
}
for {set i 0} {$i < 10} {incr i} {
    foreach {source sink} [hosts 1e6 [expr {0.010 + $option(spread) * [$spreads uniform 0 1]}]] {}
    set tcp [new Agent/TCP/$option(tcp)]
    set receiver [new Agent/TCPSink[expr {$option(tcp) eq "Sack1" ? "/Sack1" : ""}]]
    $ns attach-agent $source $tcp
    $ns attach-agent $sink $receiver
    $ns connect $tcp $receiver
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0.0 "$ftp start"
    lappend tcps $tcp
}
for {set i 0} {$i < $option(bursts)} {incr i} {
    foreach {source sink} [hosts 10e6] {}
    set udp [new Agent/UDP]
    set null [new Agent/Null]
    $ns attach-agent $source $udp
    $ns attach-agent $sink $null
    $ns connect $udp $null
    set burst [new Application/Traffic/Exponential]
    foreach {name value} {packetSize_ 1000 burst_time_ 2.5s idle_time_ 2.5s rate_ 100k} { $burst set $name $value }
    $burst attach-agent $udp
    $ns at [expr {0.1 * $i}] "$burst start"
}

proc finish {} {
    global option tcps monitor
    foreach {total squares timeouts} {0 0 0} {}
    foreach tcp $tcps {
        set acked [$tcp set ack_]
        set total [expr {$total + $acked}]
        set squares [expr {$squares + double($acked) * $acked}]
        incr timeouts [$tcp set nrexmit_]
    }
    set kbps [expr {$total * 8.0 / [llength $tcps] / $option(end)}]
    set jain [expr {double($total) * $total / ([llength $tcps] * $squares)}]
    puts "goodput_kbps $kbps jain $jain drops [$monitor set pdrops_] marks [$monitor set pmarks_] timeouts $timeouts"
    exit 0
}
$ns at $option(end) finish
$ns run
