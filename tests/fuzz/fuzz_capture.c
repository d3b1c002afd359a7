/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of capture files: the parser of every link type, and the analysis of what it finds. */
#include "fuzz.h"

#include "report/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int links[] = {1, 101, 12, 113, 276, 0, 108};
	struct report *report = report_new();
	struct capture_tcp *conversations = capture_tcp_new(report);
	uint64_t time_ns = UINT64_C(1700000000000000000);

	/* A byte for the link, one for the length, then the packet: as often as there is something left. */
	while (size >= 2) {
		size_t n = data[1] < size - 2 ? data[1] : size - 2;
		uint8_t *packet = xmalloc(n + !n);
		struct capture_segment segment = {};

		memcpy(packet, data + 2, n);
		time_ns += (uint64_t)data[0] << 20;
		if (capture_packet_parse(links[data[0] % (sizeof(links) / sizeof(links[0]))], packet, n, &segment)) {
			segment.time_ns = time_ns;
			capture_tcp_add(conversations, &segment);
		}
		free(packet);
		data += 2 + n;
		size -= 2 + n;
	}
	capture_tcp_finish(conversations);
	(void)report_finish(report);
	capture_tcp_free(conversations);
	report_free(report);
	return 0;
}
