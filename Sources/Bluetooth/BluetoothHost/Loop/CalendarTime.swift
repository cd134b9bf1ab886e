import EventLoop

extension HostLoop {
  /// The default implementation returns the system's clock.
  package var calendarTime: Double { CalendarTime.now }
}
