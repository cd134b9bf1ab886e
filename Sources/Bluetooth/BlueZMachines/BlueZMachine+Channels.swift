import BluetoothInterface
import BluetoothWire
import Essentials

// L2CAP channels: the kernel's sockets, which need no privilege, on the links that bluetoothd knows.

extension BlueZMachine {
  // MARK: Requests

  mutating func openChannel(
    _ peer: DeviceAddress, _ psm: UInt16, _ id: BlueZSessionID, _ token: RequestToken, now: Instant,
    into actions: inout [Action]
  ) {
    guard state == .poweredOn, let local = localAddress else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    guard let link = links[peer], link.isConnected(for: id), let path = link.path else {
      return complete(id, token, .failure(.notConnected), into: &actions)
    }
    guard 0x01...0xFF ~= psm, psm != Self.attributePSM else {
      let error = HostError.invalidArgument("PSM \(psm) is not one of channels.")
      return complete(id, token, .failure(error), into: &actions)
    }
    let users = channels.values.map { [$0.client] }
    guard mayHave(id, oneMoreOf: users, countMax: BlueZLimits.channelCountMax) else {
      return complete(id, token, .failure(.limitReached("channels")), into: &actions)
    }
    if devices[path]?.isPaired == false { registerAgent(for: peer, now: now, into: &actions) }
    let channel = nextChannelID()
    channels[channel] = BlueZChannel(
      client: id, peer: peer, psm: psm,
      opening: .init(token: token, deadline: now + BlueZLimits.channelOpeningMax))
    let remote = L2CAPSocketAddress(devices[path]?.identity ?? peer, psm: psm)
    actions.append(.channel(.open(channel, from: local, to: remote)))
  }

  mutating func publishChannel(
    _ psm: UInt16?, requiresEncryption: Bool, _ id: BlueZSessionID, _ token: RequestToken,
    into actions: inout [Action]
  ) {
    guard state == .poweredOn, let local = localAddress else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    // Lower ones need a privilege.
    guard psm.map({ 0x80...0xFF ~= $0 }) ?? true else {
      let error = HostError.invalidArgument("The PSMs of programs are 0x0080 to 0x00FF.")
      return complete(id, token, .failure(error), into: &actions)
    }
    let owners = listeners.values.map { [$0.client] }
    guard mayHave(id, oneMoreOf: owners, countMax: BlueZLimits.listenerCountMax) else {
      return complete(id, token, .failure(.limitReached("published channels")), into: &actions)
    }
    let listener = nextChannelID()
    listeners[listener] = BlueZListener(
      client: id, token: token, requiresEncryption: requiresEncryption)
    actions.append(
      .channel(
        .listen(listener, on: local, psm: psm, requiresEncryption: requiresEncryption)))
  }

  mutating func unpublishChannel(
    _ psm: UInt16, of id: BlueZSessionID, into actions: inout [Action]
  ) {
    for listener in sortedListeners
    where listeners[listener]?.client == id && listeners[listener]?.psm == psm {
      listeners[listener] = nil
      actions.append(.channel(.close(listener)))
    }
  }

  mutating func sendOnChannel(
    _ channel: ChannelID, _ bytes: [UInt8], _ id: BlueZSessionID, _ token: RequestToken,
    into actions: inout [Action]
  ) {
    guard let known = channels[channel], known.client == id, known.opening == nil else {
      return complete(id, token, .failure(.notConnected), into: &actions)
    }
    guard !bytes.isEmpty else { return complete(id, token, .success(.done), into: &actions) }
    guard known.unsentByteCount + bytes.count <= BlueZLimits.channelByteCountMax else {
      let error = HostError.limitReached("bytes that wait in a channel")
      return complete(id, token, .failure(error), into: &actions)
    }
    channels[channel]?.sends.append(.init(token: token, byteCount: bytes.count))
    channels[channel]?.unsentByteCount += bytes.count
    actions.append(.channel(.send(channel, bytes)))
  }

  mutating func consumed(
    _ byteCount: Int, from channel: ChannelID, _ id: BlueZSessionID, into actions: inout [Action]
  ) {
    guard byteCount > 0, let known = channels[channel], known.client == id else { return }
    channels[channel]?.unconsumedByteCount = max(0, known.unconsumedByteCount - byteCount)
    if !known.isReading,
      channels[channel]?.unconsumedByteCount ?? 0 < BlueZLimits.channelWindow
    {
      channels[channel]?.isReading = true
      actions.append(.channel(.setReading(channel, true)))
    }
  }

  mutating func closeChannel(
    _ channel: ChannelID, of id: BlueZSessionID, into actions: inout [Action]
  ) {
    guard channels[channel]?.client == id else { return }
    actions.append(.channel(.close(channel)))
    endChannel(channel, nil, into: &actions)
  }

  // MARK: Sockets

  mutating func channelReported(
    _ channel: ChannelID, _ event: ChannelSocketEvent, into actions: inout [Action]
  ) {
    switch event {
    case .opened(let mtu):
      guard let known = channels[channel], let opening = known.opening else { return }
      channels[channel]?.opening = nil
      let info = ChannelInfo(id: channel, peer: known.peer, psm: known.psm, peerMTU: mtu)
      complete(known.client, opening.token, .success(.channel(info)), into: &actions)
    case .listening(let psm):
      guard let listener = listeners[channel], let token = listener.token else {
        listeners[channel]?.psm = psm
        return
      }
      listeners[channel]?.psm = psm
      listeners[channel]?.token = nil
      complete(listener.client, token, .success(.psm(psm)), into: &actions)
    case .accepted(let accepted, let peer, let mtu):
      accept(accepted, from: peer, mtu: mtu, by: channel, into: &actions)
    case .received(let bytes): received(bytes, on: channel, into: &actions)
    case .sent(let count): sent(count, on: channel, into: &actions)
    case .ended(let failure):
      endListener(channel, failure, into: &actions)
      endChannel(channel, failure.hostError, into: &actions)
    }
  }

  private mutating func accept(
    _ channel: ChannelID, from address: DeviceAddress, mtu: Int, by listener: ChannelID,
    into actions: inout [Action]
  ) {
    let users = channels.values.map { [$0.client] }
    guard let known = listeners[listener], let psm = known.psm,
      mayHave(known.client, oneMoreOf: users, countMax: BlueZLimits.channelCountMax)
    else {
      if listeners[listener] != nil, !hasWarnedOfChannels {
        hasWarnedOfChannels = true
        actions.append(
          .warning("Channels of peers beyond \(BlueZLimits.channelCountMax) are closed."))
      }
      return actions.append(.channel(.close(channel)))
    }
    let peer = paths[address].flatMap { linkPeers[$0] } ?? address
    channels[channel] = BlueZChannel(client: known.client, peer: peer, psm: psm)
    let info = ChannelInfo(id: channel, peer: peer, psm: psm, peerMTU: mtu)
    deliver(.channelOpened(info), to: known.client, into: &actions)
  }

  private mutating func received(
    _ bytes: [UInt8], on channel: ChannelID, into actions: inout [Action]
  ) {
    guard let known = channels[channel], known.opening == nil else { return }
    let count = known.unconsumedByteCount + bytes.count
    guard count <= BlueZLimits.channelByteCountMax else {
      // Bytes in between can't be left out.
      actions.append(.channel(.close(channel)))
      let error = HostError.limitReached("received bytes of a channel that the app has not read")
      return endChannel(channel, error, into: &actions)
    }
    channels[channel]?.unconsumedByteCount = count
    if known.isReading, count >= BlueZLimits.channelWindow {
      channels[channel]?.isReading = false
      actions.append(.channel(.setReading(channel, false)))
    }
    deliver(.channelReceived(channel, bytes[...]), to: known.client, into: &actions)
  }

  private mutating func sent(
    _ count: Int, on channel: ChannelID, into actions: inout [Action]
  ) {
    guard let known = channels[channel] else { return }
    var rest = min(max(0, count), known.unsentByteCount)
    channels[channel]?.unsentByteCount -= rest
    while rest > 0, let send = channels[channel]?.sends.first {
      let part = min(rest, send.byteCount)
      rest -= part
      guard part == send.byteCount else {
        channels[channel]?.sends[0].byteCount -= part
        return
      }
      channels[channel]?.sends.removeFirst()
      complete(known.client, send.token, .success(.done), into: &actions)
    }
  }

  // MARK: The end

  /// Forgets a channel, whose socket is closed.
  ///
  /// - Parameter error: nil if its client has closed it.
  private mutating func endChannel(
    _ channel: ChannelID, _ error: HostError?, into actions: inout [Action]
  ) {
    guard let known = channels.removeValue(forKey: channel) else { return }
    let failure = Result<HostReply, HostError>.failure(error ?? .cancelled)
    if let opening = known.opening {
      return complete(known.client, opening.token, failure, into: &actions)
    }
    for send in known.sends { complete(known.client, send.token, failure, into: &actions) }
    deliver(.channelClosed(channel, error), to: known.client, into: &actions)
  }

  private mutating func endListener(
    _ channel: ChannelID, _ failure: ChannelSocketFailure, into actions: inout [Action]
  ) {
    guard let listener = listeners.removeValue(forKey: channel) else { return }
    if let token = listener.token {
      return complete(listener.client, token, .failure(failure.hostError), into: &actions)
    }
    let psm = listener.psm.map { String($0, radix: 16) } ?? "?"
    actions.append(.warning("Nothing listens on PSM 0x\(psm) any more: \(failure)."))
  }

  /// Closes the channels of a client to a peer, or to all.
  mutating func closeChannels(
    of id: BlueZSessionID, to peer: DeviceAddress?, into actions: inout [Action]
  ) {
    for channel in sortedChannels {
      guard let known = channels[channel], known.client == id,
        peer == nil || known.peer == peer
      else { continue }
      closeChannel(channel, of: id, into: &actions)
    }
    guard peer == nil else { return }
    for listener in sortedListeners where listeners[listener]?.client == id {
      listeners[listener] = nil
      actions.append(.channel(.close(listener)))
    }
  }

  /// The link of channels has ended, for this reason.
  mutating func endChannels(
    to peer: DeviceAddress, _ error: HostError, into actions: inout [Action]
  ) {
    for channel in sortedChannels where channels[channel]?.peer == peer {
      actions.append(.channel(.close(channel)))
      endChannel(channel, error, into: &actions)
    }
  }

  /// The radio is gone. Listening sockets stay, because the kernel keeps them for the address.
  mutating func endAllChannels(into actions: inout [Action]) {
    for channel in sortedChannels {
      actions.append(.channel(.close(channel)))
      endChannel(channel, .radioNotReady, into: &actions)
    }
  }

  /// Listens again on the same PSMs where the adapter has another address.
  mutating func listenAgain(into actions: inout [Action]) {
    guard let local = localAddress else { return }
    for old in sortedListeners {
      guard let listener = listeners.removeValue(forKey: old) else { continue }
      let new = nextChannelID()
      listeners[new] = listener
      actions.append(.channel(.close(old)))
      actions.append(
        .channel(
          .listen(
            new, on: local, psm: listener.psm, requiresEncryption: listener.requiresEncryption)))
    }
  }

  // MARK: Time

  var nextChannelWake: Instant? { channels.values.compactMap(\.opening?.deadline).min() }

  mutating func wakeChannels(now: Instant, into actions: inout [Action]) {
    for channel in sortedChannels {
      guard let deadline = channels[channel]?.opening?.deadline, deadline <= now else { continue }
      actions.append(.channel(.close(channel)))
      endChannel(channel, ChannelSocketFailure.timedOut.hostError, into: &actions)
    }
  }

  // MARK: Helpers

  /// The attribute protocol's PSM (Core 5.4, Vol 3, Part G, §3).
  private static let attributePSM: UInt16 = 0x001F

  private var localAddress: DeviceAddress? {
    guard let adapter = adapter.flatMap({ adapters[$0] }), let bits = adapter.address else {
      return nil
    }
    return DeviceAddress(bits: bits, kind: adapter.addressKind)
  }

  private var sortedChannels: [ChannelID] {
    channels.keys.sorted { $0.rawValue < $1.rawValue }
  }
  private var sortedListeners: [ChannelID] {
    listeners.keys.sorted { $0.rawValue < $1.rawValue }
  }

  private mutating func nextChannelID() -> ChannelID {
    lastChannel += 1
    return ChannelID(rawValue: lastChannel)
  }
}
