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

/* By name, in the order of strcmp: found by halving. */
static const struct meaning meanings[] = {
	{"IcmpInCsumErrors", "ICMP messages that arrived with a wrong checksum"},
	{"IcmpInErrors", "ICMP messages that arrived and were malformed, of an unknown kind, or had a wrong checksum"},
	{"IcmpInMsgs", "ICMP messages that arrived, good and bad"},
	{"IcmpOutErrors", "ICMP messages that were to be sent and could not be, for want of memory or of a route"},
	{"IcmpOutMsgs", "ICMP messages that were to be sent"},
	{"IcmpOutRateLimitGlobal",
	 "ICMP messages that were not sent because the host had sent enough (icmp_msgs_per_sec)"},
	{"IcmpOutRateLimitHost",
	 "ICMP messages that were not sent because that peer had been sent enough (icmp_ratelimit)"},
	{"Ip6InTooBigErrors", "packets to be passed on that were larger than the next link takes; the sender was told"},
	{"Ip6OutForwDatagrams", "packets of others that were passed on"},
	{"IpDefaultTTL", "how many routers a packet of this host may pass: the setting, not a count"},
	{"IpExtInBcastOctets", "bytes of packets to everybody on the link that arrived"},
	{"IpExtInBcastPkts", "packets to everybody on the link that arrived"},
	{"IpExtInCEPkts", "packets that arrived with the mark of a congested router (ECN)"},
	{"IpExtInCsumErrors", "packets that arrived with a wrong checksum in the IP header"},
	{"IpExtInECT0Pkts", "packets that arrived from senders that understand ECN (ECT(0))"},
	{"IpExtInECT1Pkts", "packets that arrived with the other mark of ECN (ECT(1), used by L4S)"},
	{"IpExtInMcastOctets", "bytes of multicast packets that arrived"},
	{"IpExtInMcastPkts", "multicast packets that arrived"},
	{"IpExtInNoECTPkts", "packets that arrived from senders that do not use ECN"},
	{"IpExtInNoRoutes", "packets that arrived for an address to which there is no route, and were thrown away"},
	{"IpExtInOctets", "bytes of IP packets that arrived, headers included"},
	{"IpExtInTruncatedPkts", "packets that were shorter than their header says"},
	{"IpExtOutBcastOctets", "bytes of packets that were sent to everybody on the link"},
	{"IpExtOutBcastPkts", "packets that were sent to everybody on the link"},
	{"IpExtOutMcastOctets", "bytes of multicast packets that were sent"},
	{"IpExtOutMcastPkts", "multicast packets that were sent"},
	{"IpExtOutOctets", "bytes of IP packets that were sent, headers included"},
	{"IpExtReasmOverlaps",
	 "fragments that overlapped others: the whole packet is thrown away, for it may be an attack"},
	{"IpForwDatagrams", "packets of others that were passed on"},
	{"IpForwarding", "whether this host passes on packets of others: 1 yes, 2 no; the setting, not a count"},
	{"IpFragCreates", "fragments that were made of packets too large for their link"},
	{"IpFragFails", "packets too large for their link that could not be cut up, mostly because that was forbidden"},
	{"IpFragOKs", "packets that were cut up for their link"},
	{"IpInAddrErrors",
	 "packets that arrived and were for an address that is not this host's, or no address at all"},
	{"IpInDelivers", "packets that were handed to a protocol above (TCP, UDP, ICMP)"},
	{"IpInDiscards", "packets that arrived without a fault and were thrown away nevertheless, for want of memory"},
	{"IpInHdrErrors", "packets with a fault in their header: wrong version, length or checksum, or out of hops"},
	{"IpInReceives", "packets that arrived, good and bad"},
	{"IpInUnknownProtos", "packets that arrived for a protocol that this host does not speak"},
	{"IpOutDiscards", "packets to be sent that were thrown away although nothing was wrong with them: no memory, a "
			  "full queue, a filter"},
	{"IpOutNoRoutes", "packets that could not be sent because there is no route"},
	{"IpOutRequests", "packets that protocols of this host asked to be sent"},
	{"IpOutTransmits", "packets that were handed to an interface, those passed on and fragments included"},
	{"IpReasmFails",
	 "times that fragments could not be put together: one was missing, too late, or there was no memory"},
	{"IpReasmOKs", "packets that were put together from fragments"},
	{"IpReasmReqds", "fragments that arrived and had to be put together"},
	{"IpReasmTimeout", "packets whose missing fragments did not come in time"},
	{"MPTcpExtAddAddr", "announcements of a further address by the peer (MPTCP)"},
	{"MPTcpExtAddAddrDrop", "announcements of addresses that were not taken up"},
	{"MPTcpExtAddAddrTx", "announcements of a further address of this host"},
	{"MPTcpExtAddAddrTxDrop", "announcements of addresses for which there was no room in a packet"},
	{"MPTcpExtBlackhole", "times that MPTCP was given up for a while because its first packets vanish on the way"},
	{"MPTcpExtDSSCorruptionFallback",
	 "connections that went on as plain TCP because the mapping of their data was damaged on the way"},
	{"MPTcpExtDSSCorruptionReset", "subflows that were reset because the mapping of their data was damaged"},
	{"MPTcpExtDSSNoMatchTCP", "mappings of data that do not fit the subflow's own sequence numbers"},
	{"MPTcpExtDSSNotMatching", "mappings of data that contradict the one before"},
	{"MPTcpExtDataCsumErr", "pieces of data with a wrong MPTCP checksum: something on the way changes them"},
	{"MPTcpExtDssFallback", "connections that went on as plain TCP because a mapping was missing or wrong"},
	{"MPTcpExtDuplicateData", "pieces of data that arrived twice, by different subflows"},
	{"MPTcpExtEchoAdd", "announcements of this host that the peer confirmed"},
	{"MPTcpExtEchoAddTx", "announcements of the peer that were confirmed"},
	{"MPTcpExtEchoAddTxDrop", "confirmations for which there was no room in a packet"},
	{"MPTcpExtFallbackFailed", "times that a connection could not go on as plain TCP although it had to"},
	{"MPTcpExtInfiniteMapRx", "messages by which the peer went over to plain TCP"},
	{"MPTcpExtInfiniteMapTx", "messages by which this host went over to plain TCP"},
	{"MPTcpExtMD5SigFallback", "connections without MPTCP because TCP-MD5 leaves no room for its options"},
	{"MPTcpExtMPCapableACKRX", "MPTCP connections that peers finished opening to this host"},
	{"MPTcpExtMPCapableDataFallback",
	 "connections that went on as plain TCP because the first data had no mapping"},
	{"MPTcpExtMPCapableEndpAttempt", "connections that were begun with MPTCP from an endpoint set up for it"},
	{"MPTcpExtMPCapableFallbackACK", "connections to this host that became plain TCP in the last step of opening"},
	{"MPTcpExtMPCapableFallbackSYNACK",
	 "connections of this host that became plain TCP because the peer does not speak MPTCP"},
	{"MPTcpExtMPCapableSYNACKRX", "answers of peers that speak MPTCP"},
	{"MPTcpExtMPCapableSYNRX", "connections that peers began with MPTCP"},
	{"MPTcpExtMPCapableSYNTX", "connections that this host began with MPTCP"},
	{"MPTcpExtMPCapableSYNTXDisabled", "connections begun without MPTCP because it was switched off for a while"},
	{"MPTcpExtMPCapableSYNTXDrop", "first packets with MPTCP that vanished, so that the next went without"},
	{"MPTcpExtMPCurrEstab", "MPTCP connections that are open now: a state, not a count"},
	{"MPTcpExtMPFailRx", "messages of the peer that data was damaged"},
	{"MPTcpExtMPFailTx", "messages to the peer that data was damaged"},
	{"MPTcpExtMPFallbackTokenInit", "connections without MPTCP because no token could be made for them"},
	{"MPTcpExtMPFastcloseRx", "MPTCP connections that the peer ended at once"},
	{"MPTcpExtMPFastcloseTx", "MPTCP connections that this host ended at once"},
	{"MPTcpExtMPJoinAckHMacFailure",
	 "further subflows refused because the last step of opening had a wrong signature"},
	{"MPTcpExtMPJoinAckRx", "further subflows that peers finished opening"},
	{"MPTcpExtMPJoinNoTokenFound", "further subflows for a connection that does not exist"},
	{"MPTcpExtMPJoinPortAckRx", "further subflows to an announced port that were finished"},
	{"MPTcpExtMPJoinPortSynAckRx", "answers for further subflows to an announced port"},
	{"MPTcpExtMPJoinPortSynRx", "further subflows that were begun to an announced port"},
	{"MPTcpExtMPJoinRejected", "further subflows that this host did not want"},
	{"MPTcpExtMPJoinSynAckBackupRx", "answers for further subflows that are kept in reserve"},
	{"MPTcpExtMPJoinSynAckHMacFailure", "further subflows given up because the answer had a wrong signature"},
	{"MPTcpExtMPJoinSynAckRx", "answers for further subflows of this host"},
	{"MPTcpExtMPJoinSynBackupRx", "further subflows in reserve that peers began"},
	{"MPTcpExtMPJoinSynRx", "further subflows that peers began"},
	{"MPTcpExtMPJoinSynTx", "further subflows that this host began"},
	{"MPTcpExtMPJoinSynTxBindErr", "further subflows for which the local address could not be had"},
	{"MPTcpExtMPJoinSynTxConnectErr", "further subflows that could not be begun"},
	{"MPTcpExtMPJoinSynTxCreatSkErr", "further subflows for which no socket could be made"},
	{"MPTcpExtMPPrioRx", "changes of a subflow's priority by the peer"},
	{"MPTcpExtMPPrioTx", "changes of a subflow's priority by this host"},
	{"MPTcpExtMPRstRx", "resets of subflows with a reason, from the peer"},
	{"MPTcpExtMPRstTx", "resets of subflows with a reason, from this host"},
	{"MPTcpExtMPTCPRetrans", "pieces of data that were sent again by another subflow"},
	{"MPTcpExtMismatchPortAckRx", "last steps of opening that came to a port which was not announced"},
	{"MPTcpExtMismatchPortSynRx", "further subflows begun to a port which was not announced"},
	{"MPTcpExtNoDSSInWindow", "data that fits into the window but has no mapping"},
	{"MPTcpExtOFOMerge", "pieces of data that were joined in the queue of what arrived too early"},
	{"MPTcpExtOFOQueue", "pieces of data that arrived before what precedes them (all subflows together)"},
	{"MPTcpExtOFOQueueTail", "the same, those that went to the end of that queue"},
	{"MPTcpExtPortAdd", "announcements of an address with a port of its own"},
	{"MPTcpExtRcvWndConflict", "times that subflows disagreed about the window that was granted"},
	{"MPTcpExtRcvWndConflictUpdate", "the same, where the window had to be told again"},
	{"MPTcpExtRcvWndShared", "windows granted by one subflow that were taken over by another"},
	{"MPTcpExtRmAddr", "addresses that the peer took back"},
	{"MPTcpExtRmAddrDrop", "such messages that were not followed"},
	{"MPTcpExtRmAddrTx", "addresses that this host took back"},
	{"MPTcpExtRmAddrTxDrop", "such messages for which there was no room in a packet"},
	{"MPTcpExtRmSubflow", "subflows that were closed because their address was taken back"},
	{"MPTcpExtSimultConnectFallback", "connections that became plain TCP because both ends opened at once"},
	{"MPTcpExtSndWndShared", "windows for sending that one subflow learnt from another"},
	{"MPTcpExtSubflowRecover", "subflows that came back after they had stopped"},
	{"MPTcpExtSubflowStale", "subflows that stopped and whose data goes by others"},
	{"MPTcpExtWinProbe", "packets that asked the peer whether its window has opened (MPTCP)"},
	{"TcpActiveOpens", "connections that this host asked for"},
	{"TcpAttemptFails", "connections that did not come about, asked for by this host or by others"},
	{"TcpCurrEstab", "connections that are open now: a state, not a count"},
	{"TcpEstabResets", "open connections that ended with a reset instead of a proper close"},
	{"TcpExtArpFilter", "ARP questions that were not answered because another interface is to do it (arp_filter)"},
	{"TcpExtBeyondWindow", "segments thrown away because they lie beyond the window that was granted"},
	{"TcpExtBusyPollRxPackets", "packets that an application fetched itself by busy polling"},
	{"TcpExtDelayedACKLocked", "acknowledgements that came later still because the application held the socket"},
	{"TcpExtDelayedACKLost", "delayed acknowledgements that came too late: the peer sent again what had arrived"},
	{"TcpExtDelayedACKs", "acknowledgements that waited for more data to come, and were sent by a timer"},
	{"TcpExtEmbryonicRsts", "connections that were reset while they were being opened to this host"},
	{"TcpExtIPReversePathFilter",
	 "packets thrown away because an answer would leave by another interface (rp_filter)"},
	{"TcpExtListenDrops",
	 "connections that a listener did not take, for whatever reason: the queue was full, no memory"},
	{"TcpExtListenOverflows",
	 "connections that a listener did not take because the application accepts too slowly"},
	{"TcpExtLockDroppedIcmps", "ICMP errors that were not heeded because the socket was in use at that moment"},
	{"TcpExtOfoPruned", "times that data which had arrived too early was thrown away for want of receive buffer"},
	{"TcpExtOutOfWindowIcmps", "ICMP errors about data that was never sent: forged, or very late"},
	{"TcpExtPAWSActive",
	 "segments refused while a connection of this host was opening, because their time stamps were old"},
	{"TcpExtPAWSEstab", "segments of open connections refused because their time stamps were old"},
	{"TcpExtPAWSOldAck", "old acknowledgements refused by their time stamps"},
	{"TcpExtPAWSTimewait", "segments for connections that wait out their time, refused by their time stamps"},
	{"TcpExtPFMemallocDrop", "packets thrown away because the memory they came in is reserved for freeing memory"},
	{"TcpExtPruneCalled", "times that a receive buffer was tidied because it was full"},
	{"TcpExtRcvPruned", "times that tidying did not help and arriving data was thrown away"},
	{"TcpExtSyncookiesFailed", "acknowledgements that should have carried a SYN cookie and did not"},
	{"TcpExtSyncookiesRecv", "connections that came about by a SYN cookie"},
	{"TcpExtSyncookiesSent",
	 "SYN cookies that were sent because more connections were begun than could be remembered"},
	{"TcpExtTCPACKSkippedChallenge",
	 "challenge acknowledgements that were not sent because there were enough of them"},
	{"TcpExtTCPACKSkippedFinWait2", "acknowledgements that were not sent again to a peer that has yet to close"},
	{"TcpExtTCPACKSkippedPAWS", "acknowledgements of segments with old time stamps that were not sent: too many"},
	{"TcpExtTCPACKSkippedSeq", "acknowledgements of segments outside the window that were not sent: too many"},
	{"TcpExtTCPACKSkippedSynRecv", "acknowledgements during opening that were not sent: too many"},
	{"TcpExtTCPACKSkippedTimeWait",
	 "acknowledgements for connections that wait out their time that were not sent: too many"},
	{"TcpExtTCPAOBad", "segments with a wrong signature (TCP-AO)"},
	{"TcpExtTCPAODroppedIcmps", "ICMP errors not heeded because the connection is signed (TCP-AO)"},
	{"TcpExtTCPAOGood", "segments with a right signature (TCP-AO)"},
	{"TcpExtTCPAOKeyNotFound", "segments signed with a key that is not known (TCP-AO)"},
	{"TcpExtTCPAORequired", "segments without a signature where one is required (TCP-AO)"},
	{"TcpExtTCPAbortFailed", "resets that could not be sent for want of memory"},
	{"TcpExtTCPAbortOnClose", "connections reset because the application closed them without reading everything"},
	{"TcpExtTCPAbortOnData", "connections reset because data came after the application had closed them"},
	{"TcpExtTCPAbortOnLinger",
	 "connections reset because the peer did not close in time after this host had (FIN_WAIT2)"},
	{"TcpExtTCPAbortOnMemory", "connections reset because TCP had no memory left or too many orphans"},
	{"TcpExtTCPAbortOnTimeout", "connections given up after the peer did not answer for too long"},
	{"TcpExtTCPAckCompressed", "acknowledgements that were saved by sending one for several"},
	{"TcpExtTCPAutoCorking",
	 "times that a small write waited because packets of the same socket were still in the queue"},
	{"TcpExtTCPBacklogCoalesce", "segments that were joined while they waited for a socket that was in use"},
	{"TcpExtTCPBacklogDrop", "segments thrown away because too many waited for a socket that was in use"},
	{"TcpExtTCPChallengeACK", "acknowledgements that ask the peer whether a suspicious reset or SYN was meant"},
	{"TcpExtTCPDSACKIgnoredDubious", "reports of duplicates that were not believed"},
	{"TcpExtTCPDSACKIgnoredNoUndo", "reports of duplicates that came when there was nothing to take back"},
	{"TcpExtTCPDSACKIgnoredOld", "reports of duplicates that were too old"},
	{"TcpExtTCPDSACKOfoRecv", "reports of the peer that data which had come too early came twice"},
	{"TcpExtTCPDSACKOfoSent", "reports to the peer that data which had come too early came twice"},
	{"TcpExtTCPDSACKOldSent", "reports to the peer that data came again which had arrived long before"},
	{"TcpExtTCPDSACKRecv", "reports of the peer that data came twice: it had been sent again needlessly"},
	{"TcpExtTCPDSACKRecvSegs", "segments that those reports of the peer cover"},
	{"TcpExtTCPDSACKUndo",
	 "times that the sender took its slowing down back because all that it sent again was needless"},
	{"TcpExtTCPDeferAcceptDrop",
	 "acknowledgements without data ignored because the listener wants data first (TCP_DEFER_ACCEPT)"},
	{"TcpExtTCPDelivered", "segments that peers are known to have received"},
	{"TcpExtTCPDeliveredCE", "the same, of which the peer said that they were marked by a congested router (ECN)"},
	{"TcpExtTCPFastOpenActive", "connections of this host that carried data in their first packet (TCP Fast Open)"},
	{"TcpExtTCPFastOpenActiveFail", "such connections whose data the peer did not take"},
	{"TcpExtTCPFastOpenBlackhole",
	 "times that Fast Open was given up for a while because its packets vanish on the way"},
	{"TcpExtTCPFastOpenCookieReqd", "peers that asked for a cookie for Fast Open"},
	{"TcpExtTCPFastOpenListenOverflow", "Fast Open connections refused because too many were pending"},
	{"TcpExtTCPFastOpenPassive", "connections to this host that carried data in their first packet"},
	{"TcpExtTCPFastOpenPassiveAltKey", "the same, by a cookie made with the older key"},
	{"TcpExtTCPFastOpenPassiveFail", "such connections that failed"},
	{"TcpExtTCPFastRetrans", "segments sent again because acknowledgements showed that they were lost"},
	{"TcpExtTCPFromZeroWindowAdv", "times that this host opened a window that it had closed"},
	{"TcpExtTCPFullUndo", "times that the sender took all of its slowing down back: nothing had been lost"},
	{"TcpExtTCPHPAcks", "acknowledgements that took the fast path"},
	{"TcpExtTCPHPHits", "segments with data that took the fast path"},
	{"TcpExtTCPHystartDelayCwnd", "sum of the congestion windows at which growing delay ended slow start (cubic)"},
	{"TcpExtTCPHystartDelayDetect", "times that growing delay ended slow start (cubic)"},
	{"TcpExtTCPHystartTrainCwnd",
	 "sum of the congestion windows at which the spacing of acknowledgements ended slow start"},
	{"TcpExtTCPHystartTrainDetect", "times that the spacing of acknowledgements ended slow start (cubic)"},
	{"TcpExtTCPKeepAlive", "packets that asked whether an idle peer is still there"},
	{"TcpExtTCPLossFailures", "timeouts in the middle of a recovery from a timeout"},
	{"TcpExtTCPLossProbeRecovery",
	 "losses at the end of a burst that a probe repaired without waiting for a timeout"},
	{"TcpExtTCPLossProbes", "probes sent because the last segments of a burst were not acknowledged"},
	{"TcpExtTCPLossUndo", "times that the sender took back what it did at a timeout: nothing had been lost"},
	{"TcpExtTCPLostRetransmit", "segments that were lost again after they had been sent again"},
	{"TcpExtTCPMD5Failure", "segments with a wrong signature (TCP-MD5)"},
	{"TcpExtTCPMD5NotFound", "segments without a signature where one is required (TCP-MD5)"},
	{"TcpExtTCPMD5Unexpected", "segments with a signature where none is expected (TCP-MD5)"},
	{"TcpExtTCPMTUPFail", "probes for larger packets that were lost"},
	{"TcpExtTCPMTUPSuccess", "probes for larger packets that arrived"},
	{"TcpExtTCPMemoryPressures", "times that TCP began to save memory (tcp_mem)"},
	{"TcpExtTCPMemoryPressuresChrono", "milliseconds during which TCP saved memory"},
	{"TcpExtTCPMigrateReqFailure", "half-open connections that could not be moved to another listener"},
	{"TcpExtTCPMigrateReqSuccess", "half-open connections that were moved to another listener when theirs closed"},
	{"TcpExtTCPMinTTLDrop", "segments thrown away because they had passed too many routers (IP_MINTTL)"},
	{"TcpExtTCPOFODrop", "segments that came too early and were thrown away for want of receive buffer"},
	{"TcpExtTCPOFOMerge", "segments that came too early, parts of which were there already"},
	{"TcpExtTCPOFOQueue",
	 "segments that came before others which precede them: loss or reordering on the way here"},
	{"TcpExtTCPOrigDataSent", "segments with data that were sent for the first time"},
	{"TcpExtTCPPLBRehash", "connections that were moved to another way because theirs was congested (PLB)"},
	{"TcpExtTCPPartialUndo", "times that the sender took a part of its slowing down back"},
	{"TcpExtTCPPureAcks", "acknowledgements without data that took the slow path"},
	{"TcpExtTCPRcvCoalesce", "segments that were joined in a receive queue"},
	{"TcpExtTCPRcvCollapsed", "segments that were packed together because a receive buffer was full"},
	{"TcpExtTCPRcvQDrop", "segments thrown away because there was no memory for the receive queue"},
	{"TcpExtTCPRenoFailures", "timeouts in the middle of a recovery without selective acknowledgements"},
	{"TcpExtTCPRenoRecovery", "times that loss was recovered from without selective acknowledgements"},
	{"TcpExtTCPRenoRecoveryFail", "such recoveries that ended in a timeout"},
	{"TcpExtTCPRenoReorder", "times that reordering on the way was noticed without selective acknowledgements"},
	{"TcpExtTCPReqQFullDoCookies",
	 "connections begun while the queue of half-open ones was full, answered by SYN cookies"},
	{"TcpExtTCPReqQFullDrop", "connections begun while the queue of half-open ones was full, and thrown away"},
	{"TcpExtTCPRetransFail", "segments that could not be sent again: no memory, no route, a full queue"},
	{"TcpExtTCPSACKDiscard", "selective acknowledgements that were thrown away as nonsense"},
	{"TcpExtTCPSACKReneging", "peers that threw away data which they had acknowledged selectively"},
	{"TcpExtTCPSACKReorder", "times that reordering on the way was noticed by selective acknowledgements"},
	{"TcpExtTCPSYNChallenge", "acknowledgements that ask the peer whether a SYN on an open connection was meant"},
	{"TcpExtTCPSackFailures", "timeouts in the middle of a recovery with selective acknowledgements"},
	{"TcpExtTCPSackMerged", "segments waiting for acknowledgement that were joined"},
	{"TcpExtTCPSackRecovery", "times that loss was recovered from by selective acknowledgements"},
	{"TcpExtTCPSackRecoveryFail", "such recoveries that ended in a timeout"},
	{"TcpExtTCPSackShiftFallback", "segments that could not be joined although they were acknowledged together"},
	{"TcpExtTCPSackShifted", "segments waiting for acknowledgement that were partly joined"},
	{"TcpExtTCPSlowStartRetrans", "segments sent again after a timeout, while starting anew"},
	{"TcpExtTCPSpuriousRTOs", "timeouts that turned out to be needless (F-RTO)"},
	{"TcpExtTCPSpuriousRtxHostQueues",
	 "segments that were not sent again because the first copy had not left this host"},
	{"TcpExtTCPSynRetrans", "opening packets (SYN, SYN and ACK) that were sent again"},
	{"TcpExtTCPTSReorder", "times that reordering on the way was noticed by time stamps"},
	{"TcpExtTCPTimeWaitOverflow",
	 "connections that could not wait out their time: too many did (tcp_max_tw_buckets)"},
	{"TcpExtTCPTimeouts", "retransmission timeouts: nothing was heard of the peer for too long"},
	{"TcpExtTCPToZeroWindowAdv", "times that this host closed its window: the application does not read"},
	{"TcpExtTCPWantZeroWindowAdv",
	 "times that this host wanted to close its window and had promised too much already"},
	{"TcpExtTCPWinProbe", "packets that asked a peer whether its closed window has opened"},
	{"TcpExtTCPWqueueTooBig", "attempts to split a send queue that was refused because it had grown too large"},
	{"TcpExtTCPZeroWindowDrop", "segments thrown away because the window was closed"},
	{"TcpExtTSEcrRejected", "segments refused because they echo a time stamp that was never sent"},
	{"TcpExtTW", "connections that waited out their time after closing"},
	{"TcpExtTWKilled", "the same, ended early"},
	{"TcpExtTWRecycled", "the same, reused for a new connection before their time was over"},
	{"TcpExtTcpDuplicateDataRehash",
	 "connections moved to another way because the peer kept sending the same data again"},
	{"TcpExtTcpTimeoutRehash", "connections moved to another way after a timeout"},
	{"TcpInCsumErrors", "segments that arrived with a wrong checksum"},
	{"TcpInErrs", "segments that arrived with a fault"},
	{"TcpInSegs", "segments that arrived, good and bad"},
	{"TcpMaxConn", "how many connections there may be: the setting, unlimited on Linux"},
	{"TcpOutRsts", "resets that were sent"},
	{"TcpOutSegs", "segments that were sent for the first time"},
	{"TcpPassiveOpens", "connections that others opened to this host"},
	{"TcpRetransSegs", "segments that were sent again"},
	{"TcpRtoAlgorithm", "how timeouts are computed: a constant, not a count"},
	{"TcpRtoMax", "the longest timeout in milliseconds: a constant, not a count"},
	{"TcpRtoMin", "the shortest timeout in milliseconds: a constant, not a count"},
	{"UdpIgnoredMulti", "multicast datagrams for which nobody had asked"},
	{"UdpInCsumErrors", "datagrams that arrived with a wrong checksum"},
	{"UdpInDatagrams", "datagrams that applications were given"},
	{"UdpInErrors",
	 "datagrams that arrived and could not be delivered, for whatever reason but a missing listener"},
	{"UdpMemErrors", "datagrams thrown away because all of UDP's memory was used (udp_mem)"},
	{"UdpNoPorts", "datagrams for a port that nobody listens on"},
	{"UdpOutDatagrams", "datagrams that were sent"},
	{"UdpRcvbufErrors",
	 "datagrams thrown away because the application did not read fast enough: its buffer was full"},
	{"UdpSndbufErrors", "datagrams that were not sent because the send buffer was full or the queue refused them"},
	{"XfrmAcquireError", "IPsec states that were asked for and not set up"},
	{"XfrmFwdHdrError", "IPsec packets to be passed on whose header could not be understood"},
	{"XfrmInBufferError", "IPsec packets that arrived when there was no memory"},
	{"XfrmInError", "IPsec packets that arrived and failed in a way without a counter of its own"},
	{"XfrmInHdrError", "IPsec packets that arrived with a fault in their header"},
	{"XfrmInIptfsError", "IPsec packets of the mode IP-TFS that were wrong"},
	{"XfrmInNoPols", "packets for which no IPsec policy was found"},
	{"XfrmInNoStates", "IPsec packets without a state: wrong address, protocol or SPI"},
	{"XfrmInPolBlock", "packets that an IPsec policy forbids"},
	{"XfrmInPolError", "packets whose IPsec policy could not be used"},
	{"XfrmInStateDirError", "IPsec packets that arrived for a state of the other direction"},
	{"XfrmInStateExpired", "IPsec packets whose state had expired"},
	{"XfrmInStateInvalid", "IPsec packets whose state was not valid"},
	{"XfrmInStateMismatch", "IPsec packets whose state does not fit (encapsulation)"},
	{"XfrmInStateModeError", "IPsec packets that failed in their mode (tunnel, transport)"},
	{"XfrmInStateProtoError", "IPsec packets that failed in their protocol: a wrong key or a damaged packet"},
	{"XfrmInStateSeqError", "IPsec packets outside the window against replay"},
	{"XfrmInTmplMismatch", "packets that were not protected as their IPsec policy demands"},
	{"XfrmOutBundleCheckError", "IPsec packets whose chain of states was no longer valid"},
	{"XfrmOutBundleGenError", "IPsec packets for which no chain of states could be made"},
	{"XfrmOutError", "IPsec packets that could not be sent, in a way without a counter of its own"},
	{"XfrmOutNoQueueSpace", "IPsec packets for which there was no room in a queue"},
	{"XfrmOutNoStates", "packets to be sent for which there is no IPsec state"},
	{"XfrmOutPolBlock", "packets to be sent that an IPsec policy forbids"},
	{"XfrmOutPolDead", "packets to be sent whose IPsec policy was gone"},
	{"XfrmOutPolError", "packets to be sent whose IPsec policy could not be used"},
	{"XfrmOutStateDirError", "packets to be sent by an IPsec state of the other direction"},
	{"XfrmOutStateExpired", "packets to be sent whose IPsec state had expired"},
	{"XfrmOutStateInvalid", "packets to be sent whose IPsec state was not valid"},
	{"XfrmOutStateModeError", "packets to be sent that failed in their IPsec mode"},
	{"XfrmOutStateProtoError", "packets to be sent that failed in their IPsec protocol"},
	{"XfrmOutStateSeqError", "packets to be sent whose IPsec state had used up its sequence numbers"},
	{"cache.allocs", "entries that were made for neighbours"},
	{"cache.destroys", "entries of neighbours that were removed"},
	{"cache.entries", "neighbours that are known now: a state, not a count"},
	{"cache.forced_gc_runs",
	 "times that entries had to be removed at once because there were too many (gc_thresh)"},
	{"cache.hash_grows", "times that the table of neighbours was made larger"},
	{"cache.hits", "lookups of a neighbour that found it"},
	{"cache.lookups", "lookups of a neighbour"},
	{"cache.periodic_gc_runs", "times that old entries of neighbours were removed in passing"},
	{"cache.rcv_probes_mcast", "questions for a neighbour that arrived, asked of everybody"},
	{"cache.rcv_probes_ucast", "questions for a neighbour that arrived, asked of this host alone"},
	{"cache.res_failed", "neighbours that did not answer"},
	{"cache.table_fulls", "neighbours that could not be entered because the table was full (gc_thresh3)"},
	{"cache.unresolved_discards", "packets thrown away because too many waited for a neighbour's answer"},
};

/* What ICMP messages are about; In or Out stands in front. */
static const struct meaning messages[] = {
	{"AddrMaskReps", "answers to questions for a network's mask"},
	{"AddrMasks", "questions for a network's mask"},
	{"DestUnreachs", "messages that something cannot be reached"},
	{"EchoReplies", "answers to pings"},
	{"EchoReps", "answers to pings"},
	{"Echos", "pings"},
	{"GroupMembQueries", "questions for members of multicast groups"},
	{"GroupMembReductions", "messages that a multicast group was left"},
	{"GroupMembResponses", "messages of members of multicast groups"},
	{"MLDv2Reports", "lists of multicast groups (MLDv2)"},
	{"NeighborAdvertisements", "answers about a neighbour's link address"},
	{"NeighborSolicits", "questions for a neighbour's link address"},
	{"ParmProblems", "messages that a header was not understood"},
	{"ParmProbs", "messages that a header was not understood"},
	{"PktTooBigs", "messages that a packet was too large for a link: path MTU discovery"},
	{"Redirects", "messages that another router is nearer"},
	{"RouterAdvertisements", "messages by which routers make themselves known"},
	{"RouterSolicits", "questions for routers"},
	{"SrcQuenchs", "requests to send slower, which nobody uses any more"},
	{"TimeExcds", "messages that a packet ran out of hops or of time"},
	{"TimestampReps", "answers to questions for the time"},
	{"Timestamps", "questions for the time"},
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

/* "InEchos", "OutType143". */
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
		snprintf(text, sizeof(text), "ICMP: %s that %s", what, in ? "arrived" : "were sent");
		return text;
	}
	rest += in ? 2 : 3;
	if (strncmp(rest, "Type", 4) != 0 || parse_decimal(rest + 4, 0, 255, &number) < 0)
		return NULL;
	snprintf(text, sizeof(text), "ICMP%s messages of type %u that %s", six ? "v6" : "", (unsigned)number,
		 in ? "arrived" : "were sent");
	return text;
}

/* Groups whose counters mean the same as those of another. */
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
