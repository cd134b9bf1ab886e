// A client on libstrophe, as the other end of messages of ours:
//   peer ADDRESS PASSWORD HOST PORT AUTHORITIES
// Standard input has lines "ADDRESS ID TEXT" to be sent with a request for a receipt. Standard output gets lines
// "online", "message SENDER ID TEXT" and "receipt SENDER ID"; a message with a request for a receipt is confirmed.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <strophe.h>

static const char receipts[] = "urn:xmpp:receipts";

typedef struct {
  xmpp_conn_t *connection;
  int is_online, has_ended;
} peer_t;

static void write_line(const char *kind, const char *sender, const char *id, const char *text) {
  printf("%s %s %s %s\n", kind, sender ? sender : "-", id ? id : "-", text ? text : "");
  fflush(stdout);
}

static xmpp_stanza_t *make_receipt(xmpp_ctx_t *context, const char *to, const char *id) {
  xmpp_stanza_t *message = xmpp_message_new(context, "chat", to, NULL);
  xmpp_stanza_t *received = xmpp_stanza_new(context);
  xmpp_stanza_set_name(received, "received");
  xmpp_stanza_set_ns(received, receipts);
  xmpp_stanza_set_attribute(received, "id", id);
  xmpp_stanza_add_child(message, received);
  xmpp_stanza_release(received);
  return message;
}

static int take_message(xmpp_conn_t *connection, xmpp_stanza_t *stanza, void *userdata) {
  (void)userdata;
  const char *sender = xmpp_stanza_get_from(stanza), *id = xmpp_stanza_get_id(stanza);
  xmpp_stanza_t *received = xmpp_stanza_get_child_by_name_and_ns(stanza, "received", receipts);
  if (received) write_line("receipt", sender, xmpp_stanza_get_attribute(received, "id"), NULL);
  char *text = xmpp_message_get_body(stanza);
  if (!text) return 1;
  write_line("message", sender, id, text);
  xmpp_free(xmpp_conn_get_context(connection), text);
  if (id && sender && xmpp_stanza_get_child_by_name_and_ns(stanza, "request", receipts)) {
    xmpp_stanza_t *receipt = make_receipt(xmpp_conn_get_context(connection), sender, id);
    xmpp_send(connection, receipt);
    xmpp_stanza_release(receipt);
  }
  return 1;
}

static void take_event(
    xmpp_conn_t *connection, xmpp_conn_event_t event, int error, xmpp_stream_error_t *stream_error,
    void *userdata) {
  peer_t *peer = userdata;
  if (event != XMPP_CONN_CONNECT) {
    fprintf(stderr, "offline: error %d, %s\n", error,
            stream_error && stream_error->text ? stream_error->text : "no stream error");
    peer->has_ended = 1;
    return;
  }
  xmpp_ctx_t *context = xmpp_conn_get_context(connection);
  xmpp_handler_add(connection, take_message, NULL, "message", NULL, peer);
  xmpp_stanza_t *presence = xmpp_presence_new(context);
  xmpp_send(connection, presence);
  xmpp_stanza_release(presence);
  peer->is_online = 1;
  write_line("online", NULL, NULL, NULL);
}

static void send_line(peer_t *peer, char *line) {
  char *rest = line, *to = strsep(&rest, " "), *id = strsep(&rest, " ");
  if (!id || !rest) return;
  xmpp_ctx_t *context = xmpp_conn_get_context(peer->connection);
  xmpp_stanza_t *message = xmpp_message_new(context, "chat", to, id);
  xmpp_message_set_body(message, rest);
  xmpp_stanza_t *request = xmpp_stanza_new(context);
  xmpp_stanza_set_name(request, "request");
  xmpp_stanza_set_ns(request, receipts);
  xmpp_stanza_add_child(message, request);
  xmpp_stanza_release(request);
  xmpp_send(peer->connection, message);
  xmpp_stanza_release(message);
}

// Sends the whole lines of standard input; false at its end.
static int send_input(peer_t *peer) {
  static char buffer[1 << 16];
  static size_t count;
  ssize_t read_count = read(STDIN_FILENO, buffer + count, sizeof buffer - count);
  if (read_count < 0) return errno == EAGAIN || errno == EINTR;
  if (read_count == 0) return 0;
  count += (size_t)read_count;
  char *start = buffer, *end;
  while ((end = memchr(start, '\n', count - (size_t)(start - buffer)))) {
    *end = 0;
    send_line(peer, start);
    start = end + 1;
  }
  count -= (size_t)(start - buffer);
  memmove(buffer, start, count);
  return count < sizeof buffer;
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  xmpp_initialize();
  xmpp_ctx_t *context = xmpp_ctx_new(NULL, xmpp_get_default_logger(XMPP_LEVEL_ERROR));
  peer_t peer = {.connection = xmpp_conn_new(context)};
  xmpp_conn_set_flags(peer.connection, XMPP_CONN_FLAG_MANDATORY_TLS);
  xmpp_conn_set_jid(peer.connection, argv[1]);
  xmpp_conn_set_pass(peer.connection, argv[2]);
  xmpp_conn_set_cafile(peer.connection, argv[5]);
  unsigned short port = (unsigned short)atoi(argv[4]);
  if (xmpp_connect_client(peer.connection, argv[3], port, take_event, &peer) != XMPP_EOK) return 1;
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  int is_open = 1;
  while (!peer.has_ended) {
    xmpp_run_once(context, 10);
    if (!peer.is_online || !is_open || send_input(&peer)) continue;
    is_open = 0;
    xmpp_disconnect(peer.connection);
  }
  xmpp_conn_release(peer.connection);
  xmpp_ctx_free(context);
  xmpp_shutdown();
  return 0;
}
