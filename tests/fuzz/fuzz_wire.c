/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets from the network: whatever they hold, nothing beyond them is read. */
#include "fuzz.h"
#include "probe/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_packet packet;

	for (int outgoing = 0; outgoing < 2; outgoing++) {
		wire_parse(data, size, outgoing, &packet);
		fuzz_require(packet.kind <= WIRE_SEGMENT);
		fuzz_require(packet.kind == WIRE_OTHER || packet.raddr.family != ADDR_UNKNOWN);
		fuzz_require(!outgoing || packet.kind == WIRE_OTHER || packet.kind == WIRE_QUERY ||
			     packet.kind == WIRE_DATAGRAM);
		fuzz_require(packet.rcode < 16);
	}
	return 0;
}
