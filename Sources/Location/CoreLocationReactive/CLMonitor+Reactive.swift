public import CoreLocation
public import Reactive

extension CLMonitor: ReactiveExtensionsProvider {}

extension Reactive where Base == CLMonitor {
  /// Sends the events of the monitor, on a thread of the concurrency runtime.
  ///
  /// Only one run at a time gets the events. It completes when another monitor with the same name
  /// replaces this one.
  public var events: SignalProducer<CLMonitor.Event, any Error> {
    let monitor = base
    return SignalProducer(sending: { input in
      var events = await monitor.events.makeAsyncIterator()
      while !Task.isCancelled {
        await input.waitForDemand()
        guard let event = try await events.next() else { return }
        await input.send(event)
      }
    })
  }
}
