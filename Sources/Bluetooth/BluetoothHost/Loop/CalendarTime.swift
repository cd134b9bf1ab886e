import Glibc

extension HostLoop {
  /// The default implementation returns the system's clock.
  package var calendarTime: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    // From 1 January 1970, where Unix begins to count.
    return Double(time.tv_sec - 978_307_200) + Double(time.tv_nsec) / 1e9
  }
}
