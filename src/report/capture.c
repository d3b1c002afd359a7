/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <string.h>

#include "base/clock.h"
#include "base/input_file.h"
#include "base/text.h"
#include "report/capture.h"

bool capture_recognize(const char *path)
{
	static const uint8_t heads[][4] = {{0xa1, 0xb2, 0xc3, 0xd4},
					   {0xd4, 0xc3, 0xb2, 0xa1},
					   {0xa1, 0xb2, 0x3c, 0x4d},
					   {0x4d, 0x3c, 0xb2, 0xa1},
					   {0x0a, 0x0d, 0x0d, 0x0a}};
	_cleanup_close_ int fd = input_file_open(path);
	uint8_t head[4];

	if (fd < 0 || read(fd, head, sizeof(head)) != sizeof(head))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		if (memcmp(head, heads[i], sizeof(head)) == 0)
			return true;
	return false;
}

/*
 * libpcap pulls in eight more libraries, D-Bus and cryptography among them: 1 MB for every run of nest, so it is
 * loaded only to read a capture.
 */
#define PCAP_LIBRARY "libpcap.so.0.8"

static struct {
	typeof(pcap_open_offline_with_tstamp_precision) *open;
	typeof(pcap_datalink) *link_type;
	typeof(pcap_next_ex) *next;
	typeof(pcap_geterr) *error;
	typeof(pcap_close) *close;
} libpcap;

static int load_libpcap(struct why *why)
{
	void *library = dlopen(PCAP_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return why_set(why, -ENOENT, "cannot load libpcap, needed to read captures: %s", dlerror());
	*(void **)&libpcap.open = dlsym(library, "pcap_open_offline_with_tstamp_precision");
	*(void **)&libpcap.link_type = dlsym(library, "pcap_datalink");
	*(void **)&libpcap.next = dlsym(library, "pcap_next_ex");
	*(void **)&libpcap.error = dlsym(library, "pcap_geterr");
	*(void **)&libpcap.close = dlsym(library, "pcap_close");
	if (!libpcap.open || !libpcap.link_type || !libpcap.next || !libpcap.error || !libpcap.close)
		return why_set(why, -ENOENT, "%s is not a usable libpcap", PCAP_LIBRARY);
	return 0;
}

struct reading {
	struct report *report;
	struct time_range range;
	struct capture_tcp *conversations;
	int link_type;
	uint64_t others;
};

static void see_packet(struct reading *reading, const struct pcap_pkthdr *header, const uint8_t *bytes)
{
	struct report_record *head = report_head(reading->report);
	struct capture_segment segment = {};
	uint64_t now_ns;

	/* With nanosecond precision requested, tv_usec counts nanoseconds. */
	if (header->ts.tv_sec < 0 || header->ts.tv_usec < 0)
		return;
	now_ns = (uint64_t)header->ts.tv_sec * NSEC_PER_SEC + (uint64_t)header->ts.tv_usec;
	if (now_ns < reading->range.from_ns || now_ns > reading->range.to_ns)
		return;
	head->samples++;
	head->begin_ns = head->begin_ns ? min_of(head->begin_ns, now_ns) : now_ns;
	head->end_ns = max_of(head->end_ns, now_ns);
	segment.time_ns = now_ns;
	if (capture_packet_parse(reading->link_type, bytes, header->caplen, &segment))
		capture_tcp_add(reading->conversations, &segment);
	else
		reading->others++;
}

static void add_limits(const struct reading *reading)
{
	_cleanup_free_ char *others = NULL;

	report_add_unknown(reading->report,
			   "A capture shows one point of the path: not the sending process, not why it paused, not the "
			   "socket and qdisc queues, not drops before or after that point.");
	report_add_unknown(reading->report,
			   "RTT is measured from the capture point to the acknowledging side: near that side it is "
			   "shorter than the path's RTT.");
	if (reading->others == 0)
		return;
	others = xasprintf("%" PRIu64 " packet%s skipped: not TCP, fragments, or truncated headers.", reading->others,
			   text_plural(reading->others));
	report_add_unknown(reading->report, others);
}

static int read_packets(struct reading *reading, pcap_t *pcap, const char *path, struct why *why)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(600);
	struct pcap_pkthdr *header;
	const uint8_t *bytes;
	int r;

	reading->link_type = libpcap.link_type(pcap);
	while ((r = libpcap.next(pcap, &header, &bytes)) == 1)
		see_packet(reading, header, bytes);
	if (r == PCAP_ERROR_BREAK)
		return 0;
	text_add_terminal(&shown, libpcap.error(pcap), strlen(libpcap.error(pcap)));
	/* A file that ends in the middle of a packet still has the packets before it. */
	if (report_head(reading->report)->samples == 0)
		return why_set(why, -EBADMSG, "%s: %s", path, buf_text(&shown));
	report_add_unknown(reading->report,
			   "The file is damaged or truncated: everything after the last readable packet is missing.");
	return 0;
}

int capture_report(const char *path, const struct time_range *range, struct report **ret_report, struct why *why)
{
	_cleanup_(report_freep) struct report *report = report_new();
	_cleanup_buf_ struct buf shown = BUF_INIT(600);
	char error[PCAP_ERRBUF_SIZE] = "";
	struct reading reading = {.report = report, .range = *range};
	int r = load_libpcap(why);
	pcap_t *pcap;

	if (r < 0)
		return r;
	pcap = libpcap.open(path, PCAP_TSTAMP_PRECISION_NANO, error);
	if (!pcap) {
		text_add_terminal(&shown, error, strlen(error));
		return why_set(why, -EBADMSG, "cannot read the capture: %s", buf_text(&shown));
	}
	reading.conversations = capture_tcp_new(report);
	report_head(report)->file = report_text(report, path);
	r = read_packets(&reading, pcap, path, why);
	if (r == 0) {
		capture_tcp_finish(reading.conversations);
		add_limits(&reading);
		(void)report_finish(report);
		*ret_report = take_ptr(report);
	}
	capture_tcp_free(reading.conversations);
	libpcap.close(pcap);
	return r;
}
