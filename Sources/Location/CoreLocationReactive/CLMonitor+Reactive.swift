public import CoreLocation
public import Reactive

extension CLMonitor: ReactiveExtensionsProvider {}

extension Reactive where Base == CLMonitor {
  /// The events of the monitor, on a thread of the concurrency runtime.
  ///
  /// One run at a time gets them, as one task does; it completes when another monitor takes this one's name.
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
