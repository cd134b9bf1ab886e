internal import Connections
internal import DNSWire
internal import DiscoveryMachines
internal import RunLoopSupport

extension NetService {
  /// What happened and is to be told on a run loop.
  struct Notice: Sendable {
    /// Of which activity or monitor it is news; nil for what is told in any case.
    var number: Int?
    var news: News

    init(of number: Int? = nil, _ news: News) {
      self.number = number
      self.news = news
    }
  }

  enum News: Sendable {
    case willPublish
    case published(ServiceName)
    case notPublished(NetServiceFailure)
    case accepted(TCPConnection)
    case willResolve
    case placed(ServiceResolver.Place)
    case notResolved(NetServiceFailure)
    case timedOut
    /// With the service itself, which lives until its delegate is told.
    case stopped(NetService?)
    case text(TXTRecord)
  }

  /// Tells the delegate, on a run loop.
  func handle(_ notice: Notice) {
    let isCurrent = withState { state in
      notice.number == nil || notice.number == state.activity?.number
        || notice.number == state.monitor?.number
    }
    guard isCurrent else { return }
    switch notice.news {
    case .willPublish: delegate?.netServiceWillPublish(self)
    case .published(let name): published(name)
    case .notPublished(let failure):
      if let number = notice.number { endActivity(number) }
      delegate?.netService(self, didNotPublish: failure.dictionary)
    case .accepted(let connection):
      let streams = PipeStreams.pair(ConnectionPipe(connection))
      delegate?.netService(
        self, didAcceptConnectionWith: streams.input, outputStream: streams.output)
    case .willResolve: delegate?.netServiceWillResolve(self)
    case .placed(let place): placed(place)
    case .notResolved(let failure):
      if let number = notice.number { endActivity(number) }
      delegate?.netService(self, didNotResolve: failure.dictionary)
    case .timedOut: timedOut()
    case .stopped: delegate?.netServiceDidStop(self)
    case .text(let text): heard(text)
    }
  }
}

extension NetService.Notice {
  /// Puts the notice to those that wait. Other hosts must not make them many: then one that says all
  /// that earlier ones did takes their place, and who connects is turned away.
  func add(to waiting: inout ArraySlice<Self>) {
    if waiting.count >= Self.waitingCountMax {
      switch news {
      case .published, .placed, .text:
        waiting.removeAll { $0.number == number && $0.news.isOlder(than: news) }
      case .accepted: return
      case .willPublish, .notPublished, .willResolve, .notResolved, .timedOut, .stopped: break
      }
    }
    waiting.append(self)
  }

  private static let waitingCountMax = 128
}

extension NetService.News {
  /// Whether the other says the same of a later time.
  fileprivate func isOlder(than other: Self) -> Bool {
    switch (self, other) {
    case (.published, .published), (.placed, .placed), (.text, .text): true
    default: false
    }
  }
}
