/* SPDX-License-Identifier: MIT */
/* Enqueues the whole network on an in-order queue (a stream) and does not wait. Arguments are device buffers of as many
 * bytes as NAME_arguments says, in that order; outputs may be read in between. CAPS_NOT_PACKED names a layer whose
 * weights are missing. NAME_run takes them one by one. */
int NAME_run_list(NAME_queue queue, const NAME_buffer *arguments);
