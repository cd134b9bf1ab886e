import Glibc

/// The system's calendar time.
package enum CalendarTime {
  /// The seconds since 1 January 2001, UTC, where Foundation's dates begin to count.
  package static var now: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    // From 1 January 1970, where Unix begins to count.
    return Double(time.tv_sec - 978_307_200) + Double(time.tv_nsec) / 1e9
  }
}
