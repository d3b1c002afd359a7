/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/proc/counter_meaning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "base/parse.h"

struct meaning {
	const char *name;
	const char *text;
};

/* Sorted by name (strcmp) for bsearch(). */
static const struct meaning meanings[] = {
	{"IcmpInCsumErrors", "ICMP messages received with a bad checksum"},
	{"IcmpInErrors", "ICMP messages received with errors: malformed, unknown type or bad checksum"},
	{"IcmpInMsgs", "ICMP messages received, including errors"},
	{"IcmpOutErrors", "ICMP messages not sent: no memory or no route"},
	{"IcmpOutMsgs", "ICMP messages that this host attempted to send"},
	{"IcmpOutRateLimitGlobal", "ICMP messages suppressed by the host-wide rate limit (icmp_msgs_per_sec)"},
	{"IcmpOutRateLimitHost", "ICMP messages suppressed by the per-destination rate limit (icmp_ratelimit)"},
	{"Ip6InTooBigErrors",
	 "IPv6 packets not forwarded: larger than the MTU of the outgoing link (Packet Too Big sent)"},
	{"Ip6OutForwDatagrams", "IPv6 packets forwarded"},
	{"IpDefaultTTL", "default TTL of sent packets (a setting, not a counter)"},
	{"IpExtInBcastOctets", "bytes received in broadcast packets"},
	{"IpExtInBcastPkts", "broadcast packets received"},
	{"IpExtInCEPkts", "packets received with ECN Congestion Experienced (CE): a router on the path is congested"},
	{"IpExtInCsumErrors", "packets received with a bad IP header checksum"},
	{"IpExtInECT0Pkts", "packets received with ECN ECT(0): the sender supports ECN"},
	{"IpExtInECT1Pkts", "packets received with ECN ECT(1): the sender uses L4S"},
	{"IpExtInMcastOctets", "bytes received in multicast packets"},
	{"IpExtInMcastPkts", "multicast packets received"},
	{"IpExtInNoECTPkts", "packets received without ECN (Not-ECT)"},
	{"IpExtInNoRoutes", "packets received and dropped: no route to their destination"},
	{"IpExtInOctets", "bytes received in IP packets, headers included"},
	{"IpExtInTruncatedPkts", "packets received and dropped: shorter than their header says"},
	{"IpExtOutBcastOctets", "bytes sent in broadcast packets"},
	{"IpExtOutBcastPkts", "broadcast packets sent"},
	{"IpExtOutMcastOctets", "bytes sent in multicast packets"},
	{"IpExtOutMcastPkts", "multicast packets sent"},
	{"IpExtOutOctets", "bytes sent in IP packets, headers included"},
	{"IpExtReasmOverlaps",
	 "overlapping fragments received: the kernel drops the whole packet as a possible attack"},
	{"IpForwDatagrams", "packets forwarded"},
	{"IpForwarding", "IP forwarding: 1 enabled, 2 disabled (a setting, not a counter)"},
	{"IpFragCreates", "fragments created"},
	{"IpFragFails", "packets not fragmented although larger than the link MTU, mostly because DF is set"},
	{"IpFragOKs", "packets fragmented"},
	{"IpInAddrErrors", "packets received and dropped: destination address invalid or not of this host"},
	{"IpInDelivers", "packets delivered to the transport layer (TCP, UDP, ICMP)"},
	{"IpInDiscards", "valid packets received and dropped, mostly for lack of memory"},
	{"IpInHdrErrors", "packets received with header errors: bad version, length or checksum, TTL expired"},
	{"IpInReceives", "packets received, including errors"},
	{"IpInUnknownProtos", "packets received and dropped: unknown transport protocol"},
	{"IpOutDiscards", "valid outgoing packets dropped: no memory, full queue or firewall"},
	{"IpOutNoRoutes", "outgoing packets dropped: no route to the destination"},
	{"IpOutRequests", "packets that local protocols handed to IP for sending"},
	{"IpOutTransmits", "packets handed to a device, including forwarded packets and fragments"},
	{"IpReasmFails", "IP reassembly failures: fragment missing, timeout or no memory"},
	{"IpReasmOKs", "packets reassembled from fragments"},
	{"IpReasmReqds", "fragments received that need reassembly"},
	{"IpReasmTimeout", "reassembly timeouts: a fragment did not arrive in time"},
	{"MPTcpExtAddAddr", "ADD_ADDR received: the peer announces an address"},
	{"MPTcpExtAddAddrDrop", "ADD_ADDR received and dropped"},
	{"MPTcpExtAddAddrTx", "ADD_ADDR sent: this host announces an address"},
	{"MPTcpExtAddAddrTxDrop", "ADD_ADDR not sent: no room in the TCP options"},
	{"MPTcpExtBlackhole",
	 "MPTCP blackholes detected: SYNs with MP_CAPABLE are lost, MPTCP is disabled for a while"},
	{"MPTcpExtDSSCorruptionFallback",
	 "fallbacks to TCP after DSS corruption (a middlebox changed the data mapping)"},
	{"MPTcpExtDSSCorruptionReset", "subflow resets after DSS corruption (a middlebox changed the data mapping)"},
	{"MPTcpExtDSSNoMatchTCP", "DSS mappings received that do not match the subflow's TCP sequence numbers"},
	{"MPTcpExtDSSNotMatching", "DSS mappings received that contradict the previous one"},
	{"MPTcpExtDataCsumErr", "MPTCP data checksum errors: a middlebox changes the data"},
	{"MPTcpExtDssFallback", "fallbacks to TCP: DSS option bad or missing"},
	{"MPTcpExtDuplicateData", "segments dropped as duplicates at the MPTCP level"},
	{"MPTcpExtEchoAdd", "ADD_ADDR echoes received: the peer confirms an address of this host"},
	{"MPTcpExtEchoAddTx", "ADD_ADDR echoes sent"},
	{"MPTcpExtEchoAddTxDrop", "ADD_ADDR echoes not sent: no room in the TCP options"},
	{"MPTcpExtFallbackFailed", "fallbacks to TCP that were no longer possible"},
	{"MPTcpExtInfiniteMapRx", "infinite mappings received: the peer falls back to TCP"},
	{"MPTcpExtInfiniteMapTx", "infinite mappings sent: this host falls back to TCP"},
	{"MPTcpExtMD5SigFallback", "fallbacks to TCP: TCP-MD5 leaves no room for MPTCP options"},
	{"MPTcpExtMPCapableACKRX", "third ACKs with MP_CAPABLE received: incoming MPTCP connections established"},
	{"MPTcpExtMPCapableDataFallback", "fallbacks to TCP: first data without DSS or MP_CAPABLE"},
	{"MPTcpExtMPCapableEndpAttempt", "SYNs with MP_CAPABLE refused: sent to a port-based endpoint"},
	{"MPTcpExtMPCapableFallbackACK", "incoming connections that fell back to TCP at the third ACK"},
	{"MPTcpExtMPCapableFallbackSYNACK", "outgoing connections that fell back to TCP: SYN-ACK without MP_CAPABLE"},
	{"MPTcpExtMPCapableSYNACKRX", "SYN-ACKs with MP_CAPABLE received"},
	{"MPTcpExtMPCapableSYNRX", "SYNs with MP_CAPABLE received"},
	{"MPTcpExtMPCapableSYNTX", "SYNs with MP_CAPABLE sent"},
	{"MPTcpExtMPCapableSYNTXDisabled", "SYNs sent without MP_CAPABLE because of a detected blackhole"},
	{"MPTcpExtMPCapableSYNTXDrop", "SYNs retransmitted without MP_CAPABLE after SYNs with it were lost"},
	{"MPTcpExtMPCurrEstab", "MPTCP connections established now (a gauge, not a counter)"},
	{"MPTcpExtMPFailRx", "MP_FAIL received: the peer saw a data checksum error"},
	{"MPTcpExtMPFailTx", "MP_FAIL sent: this host saw a data checksum error"},
	{"MPTcpExtMPFallbackTokenInit", "fallbacks to TCP: no token could be allocated"},
	{"MPTcpExtMPFastcloseRx", "MP_FASTCLOSE received: the peer aborted the MPTCP connection"},
	{"MPTcpExtMPFastcloseTx", "MP_FASTCLOSE sent: this host aborted the MPTCP connection"},
	{"MPTcpExtMPJoinAckHMacFailure", "incoming subflows refused: bad HMAC in the third ACK with MP_JOIN"},
	{"MPTcpExtMPJoinAckRx", "third ACKs with MP_JOIN received: incoming subflows established"},
	{"MPTcpExtMPJoinNoTokenFound", "MP_JOIN received with an unknown token"},
	{"MPTcpExtMPJoinPortAckRx", "third ACKs with MP_JOIN received on an announced port"},
	{"MPTcpExtMPJoinPortSynAckRx", "SYN-ACKs with MP_JOIN received from an announced port"},
	{"MPTcpExtMPJoinPortSynRx", "SYNs with MP_JOIN received on an announced port"},
	{"MPTcpExtMPJoinRejected", "MP_JOIN rejected by the path manager"},
	{"MPTcpExtMPJoinSynAckBackupRx", "SYN-ACKs with MP_JOIN and the backup flag received"},
	{"MPTcpExtMPJoinSynAckHMacFailure", "outgoing subflows aborted: bad HMAC in the SYN-ACK with MP_JOIN"},
	{"MPTcpExtMPJoinSynAckRx", "SYN-ACKs with MP_JOIN received"},
	{"MPTcpExtMPJoinSynBackupRx", "SYNs with MP_JOIN and the backup flag received"},
	{"MPTcpExtMPJoinSynRx", "SYNs with MP_JOIN received: incoming subflows"},
	{"MPTcpExtMPJoinSynTx", "SYNs with MP_JOIN sent: outgoing subflows"},
	{"MPTcpExtMPJoinSynTxBindErr", "outgoing subflows that failed in bind()"},
	{"MPTcpExtMPJoinSynTxConnectErr", "outgoing subflows that failed in connect()"},
	{"MPTcpExtMPJoinSynTxCreatSkErr", "outgoing subflows whose socket could not be created"},
	{"MPTcpExtMPPrioRx", "MP_PRIO received: the peer changed a subflow's priority"},
	{"MPTcpExtMPPrioTx", "MP_PRIO sent: this host changed a subflow's priority"},
	{"MPTcpExtMPRstRx", "MP_TCPRST received: the peer reset a subflow"},
	{"MPTcpExtMPRstTx", "MP_TCPRST sent: this host reset a subflow"},
	{"MPTcpExtMPTCPRetrans", "segments retransmitted at the MPTCP level"},
	{"MPTcpExtMismatchPortAckRx", "third ACKs with MP_JOIN received on a port that was not announced"},
	{"MPTcpExtMismatchPortSynRx", "SYNs with MP_JOIN received on a port that was not announced"},
	{"MPTcpExtNoDSSInWindow", "segments dropped: outside the MPTCP receive window"},
	{"MPTcpExtOFOMerge", "segments merged in the MPTCP out-of-order queue"},
	{"MPTcpExtOFOQueue", "segments inserted into the MPTCP out-of-order queue"},
	{"MPTcpExtOFOQueueTail", "segments appended to the tail of the MPTCP out-of-order queue"},
	{"MPTcpExtPortAdd", "ADD_ADDR with a port received"},
	{"MPTcpExtRcvWndConflict", "conflicts between subflows that updated the MPTCP receive window at once"},
	{"MPTcpExtRcvWndConflictUpdate", "subflow receive windows overridden by the MPTCP one after such a conflict"},
	{"MPTcpExtRcvWndShared", "subflow receive windows raised to the MPTCP-level window"},
	{"MPTcpExtRmAddr", "REMOVE_ADDR received: the peer withdraws an address"},
	{"MPTcpExtRmAddrDrop", "REMOVE_ADDR received and dropped"},
	{"MPTcpExtRmAddrTx", "REMOVE_ADDR sent: this host withdraws an address"},
	{"MPTcpExtRmAddrTxDrop", "REMOVE_ADDR not sent: no room in the TCP options"},
	{"MPTcpExtRmSubflow", "subflows closed because their address was withdrawn"},
	{"MPTcpExtSimultConnectFallback", "fallbacks to TCP: simultaneous connect"},
	{"MPTcpExtSndWndShared", "subflow send windows overridden by the MPTCP-level window"},
	{"MPTcpExtSubflowRecover", "stale subflows that became active again"},
	{"MPTcpExtSubflowStale", "subflows that became stale: their data moves to other subflows"},
	{"MPTcpExtWinProbe", "zero window probes sent at the MPTCP level"},
	{"TcpActiveOpens", "outgoing TCP connection attempts (connect)"},
	{"TcpAttemptFails", "failed TCP connection attempts, outgoing and incoming"},
	{"TcpCurrEstab", "TCP connections established now (a gauge, not a counter)"},
	{"TcpEstabResets", "established TCP connections that ended with a reset"},
	{"TcpExtArpFilter", "ARP requests not answered because of arp_filter"},
	{"TcpExtBeyondWindow", "segments dropped: beyond the receive window"},
	{"TcpExtBusyPollRxPackets", "packets received by busy polling"},
	{"TcpExtDelayedACKLocked", "delayed ACKs postponed further: the application held the socket lock"},
	{"TcpExtDelayedACKLost", "segments received again after their ACK: the delayed ACK was late or lost"},
	{"TcpExtDelayedACKs", "delayed ACKs sent when the timer expired"},
	{"TcpExtEmbryonicRsts", "resets received for half-open connections (SYN-RECV)"},
	{"TcpExtIPReversePathFilter",
	 "packets dropped by reverse path filtering (rp_filter): the reply would leave by another interface"},
	{"TcpExtListenDrops",
	 "incoming connections dropped by listeners: accept queue full, SYN queue full or no memory"},
	{"TcpExtListenOverflows",
	 "accept queue overflows: connections dropped because the application accepts too slowly"},
	{"TcpExtLockDroppedIcmps", "ICMP errors dropped: the socket was locked"},
	{"TcpExtOfoPruned", "packets dropped from out-of-order queues: receive buffer full"},
	{"TcpExtOutOfWindowIcmps",
	 "ICMP errors dropped: their sequence number is outside the send window (forged or late)"},
	{"TcpExtPAWSActive", "segments dropped by PAWS in SYN-SENT: old timestamp"},
	{"TcpExtPAWSEstab", "segments dropped by PAWS on established connections: old timestamp"},
	{"TcpExtPAWSOldAck", "old ACKs dropped by PAWS"},
	{"TcpExtPAWSTimewait", "segments dropped by PAWS in TIME-WAIT: old timestamp"},
	{"TcpExtPFMemallocDrop", "packets dropped: allocated from the emergency memory reserve"},
	{"TcpExtPruneCalled", "receive queues pruned: receive buffer full"},
	{"TcpExtRcvPruned", "packets dropped: receive buffer full even after pruning"},
	{"TcpExtSyncookiesFailed", "ACKs received with an invalid SYN cookie"},
	{"TcpExtSyncookiesRecv", "ACKs received with a valid SYN cookie: connections established"},
	{"TcpExtSyncookiesSent", "SYN cookies sent: SYN queue full"},
	{"TcpExtTCPACKSkippedChallenge", "challenge ACKs suppressed by the rate limit (tcp_challenge_ack_limit)"},
	{"TcpExtTCPACKSkippedFinWait2", "ACKs suppressed by the rate limit in FIN-WAIT-2"},
	{"TcpExtTCPACKSkippedPAWS", "ACKs for old timestamps suppressed by the rate limit (PAWS)"},
	{"TcpExtTCPACKSkippedSeq", "ACKs for segments outside the window suppressed by the rate limit"},
	{"TcpExtTCPACKSkippedSynRecv", "ACKs suppressed by the rate limit in SYN-RECV"},
	{"TcpExtTCPACKSkippedTimeWait", "ACKs suppressed by the rate limit in TIME-WAIT"},
	{"TcpExtTCPAOBad", "segments received with a bad TCP-AO signature"},
	{"TcpExtTCPAODroppedIcmps", "ICMP errors ignored: the connection uses TCP-AO"},
	{"TcpExtTCPAOGood", "segments received with a valid TCP-AO signature"},
	{"TcpExtTCPAOKeyNotFound", "segments received with an unknown TCP-AO key"},
	{"TcpExtTCPAORequired", "segments received without the required TCP-AO signature"},
	{"TcpExtTCPAbortFailed", "resets not sent: no memory"},
	{"TcpExtTCPAbortOnClose", "connections reset: closed by the application with unread data in the receive queue"},
	{"TcpExtTCPAbortOnData", "connections reset: data arrived after close, or closed with SO_LINGER 0"},
	{"TcpExtTCPAbortOnLinger", "connections reset in FIN-WAIT-2: closed with a negative TCP_LINGER2"},
	{"TcpExtTCPAbortOnMemory", "connections reset: out of TCP memory or too many orphans"},
	{"TcpExtTCPAbortOnTimeout", "connections aborted: retransmissions, probes or keepalives unanswered"},
	{"TcpExtTCPAckCompressed", "ACKs saved by ACK compression"},
	{"TcpExtTCPAutoCorking",
	 "small writes delayed by auto-corking: earlier packets of the socket are still in the qdisc or driver"},
	{"TcpExtTCPBacklogCoalesce", "segments merged in the socket backlog (socket locked)"},
	{"TcpExtTCPBacklogDrop", "segments dropped: socket backlog full (socket locked)"},
	{"TcpExtTCPChallengeACK", "challenge ACKs sent in reply to suspicious RST or SYN segments (RFC 5961)"},
	{"TcpExtTCPDSACKIgnoredDubious", "DSACK blocks ignored: dubious"},
	{"TcpExtTCPDSACKIgnoredNoUndo", "DSACK blocks ignored: nothing to undo"},
	{"TcpExtTCPDSACKIgnoredOld", "DSACK blocks ignored: too old"},
	{"TcpExtTCPDSACKOfoRecv", "DSACKs received for out-of-order data"},
	{"TcpExtTCPDSACKOfoSent", "DSACKs sent for duplicate out-of-order data"},
	{"TcpExtTCPDSACKOldSent", "DSACKs sent for duplicate data that was acknowledged before"},
	{"TcpExtTCPDSACKRecv", "DSACKs received: the peer got data twice, a retransmission was spurious"},
	{"TcpExtTCPDSACKRecvSegs", "segments covered by received DSACKs"},
	{"TcpExtTCPDSACKUndo",
	 "congestion window reductions undone: DSACKs show that all retransmissions were spurious"},
	{"TcpExtTCPDeferAcceptDrop", "ACKs without data ignored: the listener waits for data (TCP_DEFER_ACCEPT)"},
	{"TcpExtTCPDelivered", "segments delivered: acknowledged by ACK or SACK"},
	{"TcpExtTCPDeliveredCE", "segments delivered with ECN Congestion Experienced (CE), as reported by the peer"},
	{"TcpExtTCPFastOpenActive", "outgoing TCP Fast Open connections with data in the SYN"},
	{"TcpExtTCPFastOpenActiveFail", "outgoing TCP Fast Open attempts whose data the peer did not accept"},
	{"TcpExtTCPFastOpenBlackhole", "TCP Fast Open blackholes detected: outgoing Fast Open is disabled for a while"},
	{"TcpExtTCPFastOpenCookieReqd", "TCP Fast Open cookie requests received"},
	{"TcpExtTCPFastOpenListenOverflow", "TCP Fast Open requests refused: too many pending"},
	{"TcpExtTCPFastOpenPassive", "incoming TCP Fast Open connections with data in the SYN"},
	{"TcpExtTCPFastOpenPassiveAltKey", "incoming TCP Fast Open connections with a cookie of the backup key"},
	{"TcpExtTCPFastOpenPassiveFail", "incoming TCP Fast Open attempts that failed"},
	{"TcpExtTCPFastRetrans",
	 "fast retransmits: segments retransmitted on duplicate ACKs or SACK, without a timeout"},
	{"TcpExtTCPFromZeroWindowAdv", "receive windows reopened after a zero window"},
	{"TcpExtTCPFullUndo", "congestion window reductions undone completely: no segment was lost"},
	{"TcpExtTCPHPAcks", "pure ACKs processed on the fast path (header prediction)"},
	{"TcpExtTCPHPHits", "data segments processed on the fast path (header prediction)"},
	{"TcpExtTCPHystartDelayCwnd", "sum of the congestion windows at HyStart delay detections (cubic)"},
	{"TcpExtTCPHystartDelayDetect", "slow starts ended by HyStart: RTT grew (cubic)"},
	{"TcpExtTCPHystartTrainCwnd", "sum of the congestion windows at HyStart ACK train detections (cubic)"},
	{"TcpExtTCPHystartTrainDetect", "slow starts ended by HyStart: length of the ACK train (cubic)"},
	{"TcpExtTCPKeepAlive", "keepalive probes sent"},
	{"TcpExtTCPLossFailures", "retransmission timeouts during loss recovery (state Loss)"},
	{"TcpExtTCPLossProbeRecovery", "tail losses repaired by a tail loss probe (TLP), without a timeout"},
	{"TcpExtTCPLossProbes", "tail loss probes sent (TLP)"},
	{"TcpExtTCPLossUndo", "congestion window reductions undone after a spurious retransmission timeout"},
	{"TcpExtTCPLostRetransmit", "retransmitted segments that were lost again"},
	{"TcpExtTCPMD5Failure", "segments received with a bad TCP-MD5 signature"},
	{"TcpExtTCPMD5NotFound", "segments received without the required TCP-MD5 signature"},
	{"TcpExtTCPMD5Unexpected", "segments received with an unexpected TCP-MD5 signature"},
	{"TcpExtTCPMTUPFail", "failed MTU probes (tcp_mtu_probing)"},
	{"TcpExtTCPMTUPSuccess", "successful MTU probes (tcp_mtu_probing)"},
	{"TcpExtTCPMemoryPressures", "times TCP entered memory pressure (tcp_mem)"},
	{"TcpExtTCPMemoryPressuresChrono", "milliseconds TCP spent under memory pressure"},
	{"TcpExtTCPMigrateReqFailure", "failed migrations of half-open connections to another listener"},
	{"TcpExtTCPMigrateReqSuccess", "half-open connections migrated to another listener when theirs closed"},
	{"TcpExtTCPMinTTLDrop", "segments dropped: TTL below the socket's minimum (IP_MINTTL)"},
	{"TcpExtTCPOFODrop", "out-of-order segments dropped: receive buffer full"},
	{"TcpExtTCPOFOMerge", "out-of-order segments received that overlap queued data"},
	{"TcpExtTCPOFOQueue", "out-of-order segments received: loss or reordering on the path to this host"},
	{"TcpExtTCPOrigDataSent", "data segments sent, excluding retransmissions"},
	{"TcpExtTCPPLBRehash", "connections moved to another network path because of congestion (PLB)"},
	{"TcpExtTCPPartialUndo", "congestion window reductions undone partially"},
	{"TcpExtTCPPureAcks", "pure ACKs processed on the slow path"},
	{"TcpExtTCPRcvCoalesce", "segments merged in receive queues"},
	{"TcpExtTCPRcvCollapsed", "segments collapsed in receive queues: receive buffer full"},
	{"TcpExtTCPRcvQDrop", "segments dropped: no memory for the receive queue"},
	{"TcpExtTCPRenoFailures", "retransmission timeouts in state Disorder, without SACK"},
	{"TcpExtTCPRenoRecovery", "fast recoveries without SACK"},
	{"TcpExtTCPRenoRecoveryFail", "retransmission timeouts during fast recovery without SACK"},
	{"TcpExtTCPRenoReorder", "reordering detected without SACK (duplicate ACKs)"},
	{"TcpExtTCPReqQFullDoCookies", "SYNs answered with SYN cookies: SYN queue full"},
	{"TcpExtTCPReqQFullDrop", "SYNs dropped: SYN queue full"},
	{"TcpExtTCPRetransFail", "failed retransmissions: no memory, no route or full queue"},
	{"TcpExtTCPSACKDiscard", "invalid SACK blocks ignored"},
	{"TcpExtTCPSACKReneging", "SACK reneging: the peer dropped data that it had acknowledged by SACK"},
	{"TcpExtTCPSACKReorder", "reordering detected by SACK"},
	{"TcpExtTCPSYNChallenge", "challenge ACKs sent in reply to SYNs on established connections (RFC 5961)"},
	{"TcpExtTCPSackFailures", "retransmission timeouts in state Disorder, with SACK"},
	{"TcpExtTCPSackMerged", "SACKed buffers merged in retransmit queues"},
	{"TcpExtTCPSackRecovery", "fast recoveries with SACK"},
	{"TcpExtTCPSackRecoveryFail", "retransmission timeouts during fast recovery with SACK"},
	{"TcpExtTCPSackShiftFallback", "SACKed buffers that could not be shifted or merged"},
	{"TcpExtTCPSackShifted", "SACKed buffers shifted in retransmit queues"},
	{"TcpExtTCPSlowStartRetrans", "segments retransmitted in state Loss: slow start after a timeout"},
	{"TcpExtTCPSpuriousRTOs", "spurious retransmission timeouts detected (F-RTO)"},
	{"TcpExtTCPSpuriousRtxHostQueues", "retransmissions skipped: the original is still in a queue of this host"},
	{"TcpExtTCPSynRetrans", "SYNs and SYN-ACKs retransmitted"},
	{"TcpExtTCPTSReorder", "reordering detected by timestamps"},
	{"TcpExtTCPTimeWaitOverflow", "TIME-WAIT sockets not created: limit reached (tcp_max_tw_buckets)"},
	{"TcpExtTCPTimeouts", "retransmission timeouts (RTO): no ACK in time"},
	{"TcpExtTCPToZeroWindowAdv", "zero windows advertised: the application does not read"},
	{"TcpExtTCPWantZeroWindowAdv", "zero windows wanted but not advertised: TCP does not shrink an offered window"},
	{"TcpExtTCPWinProbe", "zero window probes sent"},
	{"TcpExtTCPWqueueTooBig", "segments not split: send queue over its limit"},
	{"TcpExtTCPZeroWindowDrop", "segments dropped: receive window is zero"},
	{"TcpExtTSEcrRejected", "segments dropped: invalid timestamp echo reply"},
	{"TcpExtTW", "TIME-WAIT sockets expired"},
	{"TcpExtTWKilled", "TIME-WAIT sockets expired early"},
	{"TcpExtTWRecycled", "TIME-WAIT sockets reused for new connections"},
	{"TcpExtTcpDuplicateDataRehash", "connections rehashed to another network path: the peer keeps retransmitting"},
	{"TcpExtTcpTimeoutRehash", "connections rehashed to another network path after a retransmission timeout"},
	{"TcpInCsumErrors", "TCP segments received with a bad checksum"},
	{"TcpInErrs", "TCP segments received with errors"},
	{"TcpInSegs", "TCP segments received, including errors"},
	{"TcpMaxConn", "limit of TCP connections (a setting; unlimited on Linux)"},
	{"TcpOutRsts", "TCP resets sent"},
	{"TcpOutSegs", "TCP segments sent, excluding retransmissions"},
	{"TcpPassiveOpens", "incoming TCP connections"},
	{"TcpRetransSegs", "TCP segments retransmitted"},
	{"TcpRtoAlgorithm", "algorithm of the retransmission timeout (a constant, not a counter)"},
	{"TcpRtoMax", "maximum retransmission timeout in milliseconds (a constant, not a counter)"},
	{"TcpRtoMin", "minimum retransmission timeout in milliseconds (a constant, not a counter)"},
	{"UdpIgnoredMulti", "multicast datagrams ignored: no socket joined the group"},
	{"UdpInCsumErrors", "UDP datagrams received with a bad checksum"},
	{"UdpInDatagrams", "UDP datagrams delivered to applications"},
	{"UdpInErrors", "UDP datagrams received and not delivered, other than for a closed port"},
	{"UdpMemErrors", "UDP datagrams dropped: out of UDP memory (udp_mem)"},
	{"UdpNoPorts", "UDP datagrams received for a closed port"},
	{"UdpOutDatagrams", "UDP datagrams sent"},
	{"UdpRcvbufErrors", "UDP datagrams dropped: receive buffer full, the application reads too slowly"},
	{"UdpSndbufErrors", "UDP datagrams not sent: send buffer or device queue full"},
	{"XfrmAcquireError", "IPsec: packets dropped, state not yet acquired"},
	{"XfrmFwdHdrError", "IPsec: packets not forwarded, forwarding of the packet is not allowed"},
	{"XfrmInBufferError", "IPsec: received packets dropped, no buffer"},
	{"XfrmInError", "IPsec: received packets dropped, all other errors"},
	{"XfrmInHdrError", "IPsec: received packets dropped, header error"},
	{"XfrmInIptfsError", "IPsec: received packets dropped, IP-TFS error"},
	{"XfrmInNoPols", "IPsec: received packets dropped, no matching policy"},
	{"XfrmInNoStates", "IPsec: received packets dropped, no state (wrong address, protocol or SPI)"},
	{"XfrmInPolBlock", "IPsec: received packets dropped, blocked by policy"},
	{"XfrmInPolError", "IPsec: received packets dropped, policy error"},
	{"XfrmInStateDirError", "IPsec: received packets dropped, state is for output"},
	{"XfrmInStateExpired", "IPsec: received packets dropped, state expired"},
	{"XfrmInStateInvalid", "IPsec: received packets dropped, state invalid"},
	{"XfrmInStateMismatch", "IPsec: received packets dropped, state mismatch (UDP encapsulation type)"},
	{"XfrmInStateModeError", "IPsec: received packets dropped, transformation mode error (tunnel, transport)"},
	{"XfrmInStateProtoError",
	 "IPsec: received packets dropped, transformation protocol error (wrong key or corrupt packet)"},
	{"XfrmInStateSeqError", "IPsec: received packets dropped, sequence number outside the replay window"},
	{"XfrmInTmplMismatch", "IPsec: received packets dropped, not protected as the policy requires"},
	{"XfrmOutBundleCheckError", "IPsec: outgoing packets dropped, bundle check failed"},
	{"XfrmOutBundleGenError", "IPsec: outgoing packets dropped, bundle generation failed"},
	{"XfrmOutError", "IPsec: outgoing packets dropped, all other errors"},
	{"XfrmOutNoQueueSpace", "IPsec: outgoing packets dropped, queue full"},
	{"XfrmOutNoStates", "IPsec: outgoing packets dropped, no state"},
	{"XfrmOutPolBlock", "IPsec: outgoing packets dropped, blocked by policy"},
	{"XfrmOutPolDead", "IPsec: outgoing packets dropped, policy is dead"},
	{"XfrmOutPolError", "IPsec: outgoing packets dropped, policy error"},
	{"XfrmOutStateDirError", "IPsec: outgoing packets dropped, state is for input"},
	{"XfrmOutStateExpired", "IPsec: outgoing packets dropped, state expired"},
	{"XfrmOutStateInvalid", "IPsec: outgoing packets dropped, state invalid"},
	{"XfrmOutStateModeError", "IPsec: outgoing packets dropped, transformation mode error"},
	{"XfrmOutStateProtoError", "IPsec: outgoing packets dropped, transformation protocol error"},
	{"XfrmOutStateSeqError", "IPsec: outgoing packets dropped, sequence number overflow"},
	{"cache.allocs", "neighbour entries created"},
	{"cache.destroys", "neighbour entries destroyed"},
	{"cache.entries", "neighbour entries now (a gauge, not a counter)"},
	{"cache.forced_gc_runs", "forced garbage collections of neighbour entries: table over gc_thresh"},
	{"cache.hash_grows", "neighbour hash table resizes"},
	{"cache.hits", "neighbour lookups that found an entry"},
	{"cache.lookups", "neighbour lookups"},
	{"cache.periodic_gc_runs", "periodic garbage collections of neighbour entries"},
	{"cache.rcv_probes_mcast", "multicast and broadcast neighbour solicitations received"},
	{"cache.rcv_probes_ucast", "unicast neighbour solicitations received"},
	{"cache.res_failed", "failed neighbour resolutions: no reply"},
	{"cache.table_fulls", "neighbour table overflows: entries over gc_thresh3"},
	{"cache.unresolved_discards", "packets dropped: queue of an unresolved neighbour full"},
};

/* ICMP message types; the counter's name has "In" or "Out" in front. */
static const struct meaning messages[] = {
	{"AddrMaskReps", "address mask replies"},
	{"AddrMasks", "address mask requests"},
	{"DestUnreachs", "destination unreachable messages"},
	{"EchoReplies", "echo replies (ping)"},
	{"EchoReps", "echo replies (ping)"},
	{"Echos", "echo requests (ping)"},
	{"GroupMembQueries", "multicast listener queries (MLD)"},
	{"GroupMembReductions", "multicast listener done messages (MLD)"},
	{"GroupMembResponses", "multicast listener reports (MLD)"},
	{"MLDv2Reports", "multicast listener reports (MLDv2)"},
	{"NeighborAdvertisements", "neighbour advertisements"},
	{"NeighborSolicits", "neighbour solicitations"},
	{"ParmProblems", "parameter problem messages"},
	{"ParmProbs", "parameter problem messages"},
	{"PktTooBigs", "packet too big messages (path MTU discovery)"},
	{"Redirects", "redirect messages"},
	{"RouterAdvertisements", "router advertisements"},
	{"RouterSolicits", "router solicitations"},
	{"SrcQuenchs", "source quench messages (obsolete)"},
	{"TimeExcds", "time exceeded messages (TTL or reassembly)"},
	{"TimestampReps", "timestamp replies"},
	{"Timestamps", "timestamp requests"},
};

static int by_name(const void *key, const void *item)
{
	return strcmp(key, ((const struct meaning *)item)->name);
}

static const char *find(const struct meaning *table, size_t count, const char *name)
{
	const struct meaning *found = bsearch(name, table, count, sizeof(*table), by_name);

	return found ? found->text : NULL;
}

static const char *find_as(const char *group, const char *rest)
{
	char name[128];

	snprintf(name, sizeof(name), "%s%s", group, rest);
	return find(meanings, ARRAY_SIZE(meanings), name);
}

/* REST is "InEchos", "OutType143". */
static const char *icmp_meaning(const char *rest, bool six)
{
	static char text[160];
	bool in = strncmp(rest, "In", 2) == 0;
	const char *what;
	uint64_t number;

	if (!in && strncmp(rest, "Out", 3) != 0)
		return NULL;
	what = find(messages, ARRAY_SIZE(messages), rest + (in ? 2 : 3));
	if (what) {
		snprintf(text, sizeof(text), "ICMP %s %s", what, in ? "received" : "sent");
		return text;
	}
	rest += in ? 2 : 3;
	if (strncmp(rest, "Type", 4) != 0 || parse_decimal(rest + 4, 0, 255, &number) < 0)
		return NULL;
	snprintf(text, sizeof(text), "ICMP%s messages of type %u %s", six ? "v6" : "", (unsigned)number,
		 in ? "received" : "sent");
	return text;
}

/* Groups whose counters have the meanings of another group. */
static const struct {
	const char *group;
	const char *same[3];
} groups[] = {
	{"UdpLite6", {"Udp"}},        {"UdpLite", {"Udp"}}, {"Udp6", {"Udp"}},
	{"Ip6", {"Ip", "IpExt"}},     {"Icmp6", {"Icmp"}},  {"arp_cache.", {"cache."}},
	{"ndisc_cache.", {"cache."}},
};

const char *counter_meaning(const char *name)
{
	const char *text = find(meanings, ARRAY_SIZE(meanings), name);

	for (size_t i = 0; !text && i < ARRAY_SIZE(groups); i++) {
		size_t n = strlen(groups[i].group);

		if (strncmp(name, groups[i].group, n) != 0)
			continue;
		for (size_t k = 0; !text && groups[i].same[k]; k++)
			text = find_as(groups[i].same[k], name + n);
	}
	if (!text && strncmp(name, "IcmpMsg", 7) == 0)
		text = icmp_meaning(name + 7, false);
	if (!text && strncmp(name, "Icmp6", 5) == 0)
		text = icmp_meaning(name + 5, true);
	if (!text && strncmp(name, "Icmp", 4) == 0)
		text = icmp_meaning(name + 4, false);
	return text;
}

const char *counter_full_name(const char *name)
{
	static const char *const prefixes[] = {"TcpExt", "IpExt",    "Tcp", "Udp", "Ip",
					       "Icmp",   "MPTcpExt", "Ip6", "Udp6"};

	if (counter_meaning(name))
		return name;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		for (size_t k = 0; k < ARRAY_SIZE(meanings); k++)
			if (strncmp(meanings[k].name, prefixes[i], strlen(prefixes[i])) == 0 &&
			    strcasecmp(meanings[k].name + strlen(prefixes[i]), name) == 0)
				return meanings[k].name;
	return NULL;
}
