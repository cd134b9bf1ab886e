internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import RunLoopSupport

extension NetService {
  /// An event that is delivered to the delegate on a run loop.
  struct DelegateCall: Sendable {
    /// The activity or monitor that it belongs to; nil for an event that is always delivered.
    var number: Int?
    var event: DelegateEvent

    init(of number: Int? = nil, _ event: DelegateEvent) {
      self.number = number
      self.event = event
    }
  }

  enum DelegateEvent: Sendable {
    case willPublish
    case published(ServiceName)
    case notPublished(NetServiceFailure)
    case accepted(TCPConnection)
    case willResolve
    case resolved(ServiceResolver.Resolution)
    case notResolved(NetServiceFailure)
    case timedOut
    /// Holds the service until its delegate was called.
    case stopped(NetService?)
    case text(TXTRecord)
  }

  /// Reports something about an activity, unless it has ended meanwhile.
  func report(_ event: DelegateEvent, of number: Int) {
    withState { state in
      if state.activity?.number == number { inbox.post(DelegateCall(of: number, event)) }
    }
  }

  /// Calls the delegate, on a run loop.
  func handle(_ notice: DelegateCall) {
    let isCurrent = withState { state in
      notice.number == nil || notice.number == state.activity?.number
        || notice.number == state.monitor?.number
    }
    guard isCurrent else { return }
    switch notice.event {
    case .willPublish: delegate?.netServiceWillPublish(self)
    case .published(let name): published(name)
    case .notPublished(let failure):
      if let number = notice.number, !endActivity(number) { return }
      delegate?.netService(self, didNotPublish: failure.dictionary)
    case .accepted(let connection):
      let streams = PipeStreams.pair(ConnectionPipe(connection))
      delegate?.netService(
        self, didAcceptConnectionWith: streams.input, outputStream: streams.output)
    case .willResolve: delegate?.netServiceWillResolve(self)
    case .resolved(let resolution): resolved(resolution, notice.number)
    case .notResolved(let failure):
      // Where another thread has ended it, that is reported.
      if let number = notice.number, !endActivity(number) { return }
      delegate?.netService(self, didNotResolve: failure.dictionary)
    case .timedOut: timedOut(notice.number)
    case .stopped: delegate?.netServiceDidStop(self)
    case .text(let text): receivedText(text)
    }
  }
}

extension NetService.DelegateCall {
  /// Appends the notice to the waiting ones. Other hosts can cause any number: at the bound, a
  /// notice replaces earlier ones that it supersedes, and connections are refused.
  func add(to waiting: inout ArraySlice<Self>) {
    if waiting.count >= TCPListener.waitingConnectionsMax {
      switch event {
      case .published, .resolved, .text:
        waiting.removeAll { $0.number == number && $0.event.isOlder(than: event) }
      case .accepted: return
      case .willPublish, .notPublished, .willResolve, .notResolved, .timedOut, .stopped: break
      }
    }
    waiting.append(self)
  }

}

extension NetService.DelegateEvent {
  /// Whether the other supersedes it.
  fileprivate func isOlder(than other: Self) -> Bool {
    switch (self, other) {
    case (.published, .published), (.resolved, .resolved), (.text, .text): true
    default: false
    }
  }
}
