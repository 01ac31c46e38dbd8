# A case of the packet-exact reference, one flow over a drop-tail bottleneck that overflows, with every link traced:
# `ns overflow.tcl Sack1 TCPSink/Sack1 sack1-overflow.tr`, by ns-2.35.
set ns [new Simulator]
set file [open [lindex $argv 2] w]
$ns trace-all $file
set s [$ns node]; set r [$ns node]; set k [$ns node]
$ns duplex-link $s $r 10Mb 5ms DropTail
$ns duplex-link $r $k 2Mb 35ms DropTail
foreach {a b} [list $s $r $r $s $k $r] { $ns queue-limit $a $b 100000 }
$ns queue-limit $r $k 15
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 64
set sender [new Agent/TCP/[lindex $argv 0]]
set sink [new Agent/[lindex $argv 1]]
$ns attach-agent $s $sender
$ns attach-agent $k $sink
$ns connect $sender $sink
set ftp [new Application/FTP]
$ftp attach-agent $sender
$ns at 0.0 "$ftp start"
$ns at 5.0 "close $file; exit 0"
$ns run
