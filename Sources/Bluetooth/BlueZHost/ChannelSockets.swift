#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import BluetoothWire
  import EventLoop

  /// The sockets of a machine's channels. Used on its loop only; its owner must call ``closeAll(_:)``.
  final class ChannelSockets {
    private let loop: EpollLoop
    private let onEvent: (ChannelID, ChannelSocketEvent) -> Void
    private var sockets: [ChannelID: ChannelSocket] = [:]
    private var closingCount = 0
    private var onClosed: [() -> Void] = []
    /// Numbers the channels of peers; those of the machine are below.
    private var lastAccepted: UInt64 = 1 << 63

    /// - Parameter onEvent: Called on the loop, not within ``perform(_:)``.
    init(
      on loop: EpollLoop, onEvent: @escaping (ChannelID, ChannelSocketEvent) -> Void
    ) {
      self.loop = loop
      self.onEvent = onEvent
    }

    /// Performs an action; returns the events that followed at once.
    func perform(_ action: ChannelAction) -> [(ChannelID, ChannelSocketEvent)] {
      do throws(ChannelSocketFailure) {
        switch action {
        case .open(let id, let local, let remote):
          add(try .connect(from: local, to: remote, on: loop), id)
        case .listen(let id, let local, let psm, let requiresEncryption):
          let made = try ChannelSocket.listen(
            on: local, psm: psm, requiresEncryption: requiresEncryption, on: loop)
          add(made.socket, id)
          return [(id, .listening(psm: made.psm))]
        case .send(let id, let bytes):
          return (sockets[id]?.send(bytes) ?? []).map { event in
            forgetIfEnded(id, event)
            return (id, event)
          }
        case .setReading(let id, let isReading): sockets[id]?.setReading(isReading)
        case .close(let id):
          if let socket = sockets.removeValue(forKey: id) { close(socket) }
        }
        return []
      } catch {
        switch action {
        case .open(let id, _, _), .listen(let id, _, _, _): return [(id, .ended(error))]
        case .send, .setReading, .close: return []
        }
      }
    }

    private func add(_ socket: ChannelSocket, _ id: ChannelID) {
      sockets[id] = socket
      socket.onReport = { [weak self] in self?.received($0, from: id) }
    }

    private func received(_ report: ChannelSocket.Report, from id: ChannelID) {
      switch report {
      case .event(let event):
        forgetIfEnded(id, event)
        onEvent(id, event)
      case .accepted(let socket, let peer, let mtu):
        lastAccepted += 1
        let accepted = ChannelID(rawValue: lastAccepted)
        add(socket, accepted)
        onEvent(id, .accepted(accepted, peer: peer, peerMTU: mtu))
      }
    }

    private func forgetIfEnded(_ id: ChannelID, _ event: ChannelSocketEvent) {
      if case .ended = event { sockets[id] = nil }
    }

    private func close(_ socket: ChannelSocket) {
      closingCount += 1
      socket.closeWhenSent { [self] in
        closingCount -= 1
        if closingCount == 0 { finishClosing() }
      }
    }

    private func finishClosing() {
      let calls = onClosed
      onClosed = []
      for call in calls { call() }
    }

    /// Closes all sockets, then calls `completion`, when the kernel has sent their bytes or two seconds are over.
    func closeAll(_ completion: @escaping () -> Void) {
      onClosed.append(completion)
      let all = sockets.values
      sockets = [:]
      for socket in all { close(socket) }
      if closingCount == 0 { finishClosing() }
    }
  }
#endif
