/* Set the clock of one process back by a day from the moment a file exists; its monotonic clock goes on. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long back_s(void) {
  const char *path = getenv("TORTURE_CLOCK_BACK");
  return path && access(path, F_OK) == 0 ? 86400 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  int done = (int)syscall(SYS_clock_gettime, clock, out);
  if (done == 0 && clock == CLOCK_REALTIME) out->tv_sec -= back_s();
  return done;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  int done = (int)syscall(SYS_gettimeofday, out, zone);
  if (done == 0) out->tv_sec -= back_s();
  return done;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
