// The functions of sd-bus that this package calls, as systemd's manual declares them (sd-bus(3)). Because they are
// declared here, a program builds where libsystemd.so.0 is installed and its headers (libsystemd-dev) are not. A test
// compares the declarations with the header where that is installed.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct {
  const char *name;
  const char *message;
  int _need_free;
} sd_bus_error;

int sd_bus_new(sd_bus **bus);
int sd_bus_set_address(sd_bus *bus, const char *address);
int sd_bus_set_bus_client(sd_bus *bus, int isClient);
int sd_bus_start(sd_bus *bus);
sd_bus *sd_bus_close_unref(sd_bus *bus);
int sd_bus_get_fd(sd_bus *bus);
int sd_bus_get_events(sd_bus *bus);
int sd_bus_get_timeout(sd_bus *bus, uint64_t *microseconds);
int sd_bus_process(sd_bus *bus, sd_bus_message **message);
int sd_bus_is_ready(sd_bus *bus);
int sd_bus_send(sd_bus *bus, sd_bus_message *message, uint64_t *cookie);

int sd_bus_message_new_method_call(sd_bus *bus, sd_bus_message **message, const char *destination, const char *path,
                                   const char *interface, const char *member);
int sd_bus_message_new_signal(sd_bus *bus, sd_bus_message **message, const char *path, const char *interface,
                              const char *member);
int sd_bus_message_set_destination(sd_bus_message *message, const char *destination);
int sd_bus_message_new_method_return(sd_bus_message *call, sd_bus_message **message);
int sd_bus_message_new_method_error(sd_bus_message *call, sd_bus_message **message, const sd_bus_error *error);
sd_bus_message *sd_bus_message_ref(sd_bus_message *message);
sd_bus_message *sd_bus_message_unref(sd_bus_message *message);
int sd_bus_message_get_type(sd_bus_message *message, uint8_t *type);
int sd_bus_message_get_reply_cookie(sd_bus_message *message, uint64_t *cookie);
const char *sd_bus_message_get_path(sd_bus_message *message);
const char *sd_bus_message_get_interface(sd_bus_message *message);
const char *sd_bus_message_get_member(sd_bus_message *message);
const char *sd_bus_message_get_sender(sd_bus_message *message);
const sd_bus_error *sd_bus_message_get_error(sd_bus_message *message);

int sd_bus_message_append_basic(sd_bus_message *message, char type, const void *value);
int sd_bus_message_append_array(sd_bus_message *message, char type, const void *bytes, size_t count);
int sd_bus_message_open_container(sd_bus_message *message, char type, const char *contents);
int sd_bus_message_close_container(sd_bus_message *message);
int sd_bus_message_read_basic(sd_bus_message *message, char type, void *value);
int sd_bus_message_read_array(sd_bus_message *message, char type, const void **bytes, size_t *count);
int sd_bus_message_enter_container(sd_bus_message *message, char type, const char *contents);
int sd_bus_message_exit_container(sd_bus_message *message);
int sd_bus_message_peek_type(sd_bus_message *message, char *type, const char **contents);
int sd_bus_message_skip(sd_bus_message *message, const char *types);
