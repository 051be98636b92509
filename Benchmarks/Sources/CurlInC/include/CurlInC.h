// Requests with libcurl's multi interface on one thread: the yardstick for an engine on libcurl. libcurl is looked up at run time.
#ifndef CURL_IN_C_H
#define CURL_IN_C_H

typedef struct curl_in_c curl_in_c;

/// Makes `parallel` transfers of their own easy handle and URL: GETs, or POSTs with a body. `authorities` is a file of certificates, or NULL.
/// Returns NULL where there is no libcurl.
curl_in_c *curl_in_c_new(const char *const *urls, int parallel, const char *body, const char *authorities);

/// Performs `count` requests, as many at once as there are transfers. Connections are kept for the next call.
/// Returns the number of responses whose status was 200 and whose body had `length` bytes.
long curl_in_c_run(curl_in_c *client, long count, long length);

/// Sends a request on each transfer to a server that sends no response, and leaves it waiting.
void curl_in_c_hold(curl_in_c *client);

void curl_in_c_free(curl_in_c *client);

#endif
