internal import BonjourHost
internal import DNSWire
internal import DiscoveryMachines
internal import RunLoopSupport

extension NetService {
  /// Sets the TXT record, and updates the registration if there is one.
  func changeText(_ data: Data?) -> Bool {
    var text: TXTRecord?
    do throws(DNSWireError) {
      text = try data.map { data throws(DNSWireError) in try TXTRecord(decoding: data) }
      try ServiceRegistration.check(text ?? TXTRecord())
    } catch {
      return false
    }
    withState { state in
      state.text = text
      state.activity?.newText = text ?? TXTRecord()
    }
    updateRegisteredText()
    return true
  }

  /// Announces the text that was set last, however many threads set one; nothing before the service
  /// is announced.
  func updateRegisteredText() {
    var reported: TXTRecord?
    while let (registration, text) = newText(otherThan: reported) {
      // It is not too long for a message: that was seen to when it was set.
      try? registration.update(text)
      reported = text
    }
  }

  private func newText(otherThan reported: TXTRecord?) -> ((any DiscoveryRegistration), TXTRecord)?
  {
    withState { state in
      guard let registration = state.activity?.registration, let text = state.activity?.newText,
        text != reported
      else { return nil }
      return (registration, text)
    }
  }

  /// Starts to report changes of the TXT record.
  func beginMonitoring() {
    guard let name = serviceName else { return }
    let number = withState { state -> Int? in
      guard state.monitor == nil else { return nil }
      state.lastNumber += 1
      state.monitor = Monitor(number: state.lastNumber)
      return state.lastNumber
    }
    guard let number else { return }
    let query = discovery.startQuery(.records(name.name, .txt), on: nil) { [inbox] event in
      guard case .recordAdded(let record) = event.event, case .txt(let text) = record.data else {
        return
      }
      inbox.post(DelegateCall(of: number, .text(text)))
    }
    withState { if $0.monitor?.number == number { $0.monitor?.query = query } }
  }

  /// Stops reporting changes of the TXT record.
  func endMonitoring() {
    let ended = withState { state in
      defer { state.monitor = nil }
      return state.monitor
    }
    // Its query is released here, outside the lock.
    withExtendedLifetime(ended?.query) {}
  }

  /// A TXT record was received; called on a run loop, and once for each interface.
  func receivedText(_ text: TXTRecord) {
    let isNews = withState { state in
      defer {
        state.text = text
        state.monitor?.reportedText = text
      }
      return state.monitor?.reportedText != text
    }
    if isNews { delegate?.netService(self, didUpdateTXTRecord: Data(text.wireBytes)) }
  }
}

extension NetService {
  /// The keys and values of a text record; of a key without a value the value is empty. Nothing
  /// where the data is no text record.
  static func entries(of data: Data) -> [String: Data] {
    guard let record = try? TXTRecord(decoding: data) else { return [:] }
    let pairs = record.entries.map { ($0.key, Data($0.value ?? [])) }
    return Dictionary(pairs) { first, _ in first }
  }

  /// A text record of these keys and values, in the order of the keys but with the version first
  /// (RFC 6763, §6.7). Left out is what can't be in a record: keys that are empty, have a `=` or
  /// are not ASCII, and strings above 255 bytes.
  static func record(of entries: [String: Data]) -> Data {
    let order = entries.keys.sorted { a, b in
      (a == "txtvers" ? 0 : 1, a) < (b == "txtvers" ? 0 : 1, b)
    }
    var record = TXTRecord()
    for key in order {
      do throws(DNSWireError) {
        try record.set(key, to: entries[key].map(Array.init))
      } catch {
        continue
      }
    }
    return Data(record.wireBytes)
  }
}
