import BluetoothInterface
import BluetoothWire
import Essentials

/// What the live view shows and what keys do: a value, without a terminal and without a radio.
struct LiveView: Sendable {
  /// The effect of a key on the program.
  enum Effect: Hashable, Sendable {
    case quit
    /// Connect with a device and show it.
    case open(String)
    /// Go back to the list.
    case close
    case read(KeptDevice.Key)
    case toggleSubscription(KeptDevice.Key)
    /// Write the input.
    case write(KeptDevice.Key, String)
    case reconnect
    case answer(PairingPromptID, PairingAnswer)
  }

  /// The maximum length of the input: longer than any name or value.
  private static let inputCountMax = 1_100

  /// The device that is selected in the list.
  private(set) var selected: String?
  /// Only devices that contain this text are listed.
  private(set) var filter = ""
  private(set) var isTypingFilter = false
  private(set) var showsHelp = false
  /// The device that is open; nil while the list is shown.
  var detail: DetailView?
  /// The questions of pairings, one for each peer; the first is shown, and gets all keys but Ctrl-C.
  private var pairings: [PairingQuestion] = []
  var pairing: PairingQuestion? { pairings.first }
  var pairingCount: Int { pairings.count }
  /// The question on screen has just come while keys were typed for something else: it takes none
  /// before Enter.
  private(set) var isPairingNew = false

  /// A message below the list, until the next key.
  private(set) var message: String?

  /// Shows a message, in the list or in the open device.
  mutating func show(_ sentence: String) {
    if detail == nil { message = sentence } else { detail?.message = sentence }
  }

  /// A pairing has a question, or a number to show. It replaces an earlier one of the same peer, and
  /// waits behind those of others.
  mutating func ask(_ question: PairingQuestion) {
    pairingEnded(with: question.peer)
    if pairings.isEmpty, isTypingFilter || detail?.input != nil { isPairingNew = true }
    pairings.append(question)
  }

  /// A pairing has ended: its question takes no answer any more, and the next one no key that was
  /// typed for it.
  mutating func pairingEnded(with peer: DeviceAddress) {
    if pairing?.peer == peer { isPairingNew = true }
    pairings.removeAll { $0.peer == peer }
  }

  /// The devices of a list that the filter lets through.
  func filtered(_ devices: [NearbyTable.Device]) -> [NearbyTable.Device] {
    let wanted = filter.lowercased()
    guard !wanted.isEmpty else { return devices }
    return devices.filter { device in
      let sighting = device.sighting
      let texts = [
        sighting.name ?? "", sighting.summary, sighting.identifier,
        sighting.address?.description ?? "",
      ]
      return texts.contains { $0.lowercased().contains(wanted) }
    }
  }

  /// The beacons of a list that the filter lets through.
  func filtered(_ beacons: [BeaconSurvey.Row]) -> [BeaconSurvey.Row] {
    let wanted = filter.lowercased()
    guard !wanted.isEmpty else { return beacons }
    return beacons.filter { beacon in
      [beacon.name, beacon.format.rawValue, BeaconList.distance(beacon)]
        .contains { $0.lowercased().contains(wanted) }
    }
  }

  /// Keeps a selection where there is anything to select. A device that is forgotten hands it to
  /// the one in its place.
  mutating func update(_ devices: [String], before: [String]) {
    if let selected, devices.contains(selected) { return }
    let index = selected.flatMap { before.firstIndex(of: $0) } ?? 0
    selected = devices.isEmpty ? nil : devices[min(index, devices.count - 1)]
  }

  /// Takes a key.
  /// - Parameters:
  ///   - key: The key.
  ///   - devices: The identifiers of the devices that are listed, in their order.
  ///   - page: How many rows a page has.
  /// - Returns: What to do.
  mutating func press(_ key: Key, devices: [String], page: Int) -> Effect? {
    if pairing != nil { return answerPairing(key) }
    // A key that was not typed for a question: the next question takes the ones after it.
    isPairingNew = false
    message = nil
    if showsHelp {
      showsHelp = false
      return key == .character("q") ? .quit : nil
    }
    if detail?.input != nil { return typeValue(key) }
    if isTypingFilter {
      typeFilter(key, devices, page)
      return nil
    }
    switch key {
    case .character("q"), .character("Q"): return .quit
    case .character("?"), .character("h"): showsHelp = true
    default: return detail == nil ? pressInList(key, devices, page) : pressInDetail(key, page)
    }
    return nil
  }

  private mutating func answerPairing(_ key: Key) -> Effect? {
    guard var question = pairings.first else { return nil }
    if isPairingNew {
      if key == .enter { isPairingNew = false }
      return nil
    }
    if key == .control("i") {
      // The next peer's question, so that a silent one's is not in its way.
      pairings.append(pairings.removeFirst())
      return nil
    }
    let outcome = question.press(key)
    if outcome == .open { pairings[0] = question } else { pairings.removeFirst() }
    if case .answered(let answer) = outcome { return .answer(question.id, answer) }
    return nil
  }

  private mutating func pressInList(_ key: Key, _ devices: [String], _ page: Int) -> Effect? {
    switch key {
    case .character("/"): isTypingFilter = true
    case .escape: filter = ""
    case .enter, .character("l"): return selected.map { .open($0) }
    default: move(key, devices, page)
    }
    return nil
  }

  private mutating func move(_ key: Key, _ devices: [String], _ page: Int) {
    guard !devices.isEmpty else { return }
    let index = selected.flatMap { devices.firstIndex(of: $0) } ?? 0
    selected = devices[Self.moved(index, key, devices.count, page)]
  }

  /// The index after a key that moves a selection.
  static func moved(_ index: Int, _ key: Key, _ count: Int, _ page: Int) -> Int {
    let next =
      switch key {
      case .up, .character("k"): index - 1
      case .down, .character("j"): index + 1
      case .pageUp: index - max(1, page)
      case .pageDown: index + max(1, page)
      case .home, .character("g"): 0
      case .end, .character("G"): count - 1
      default: index
      }
    return min(max(0, next), max(0, count - 1))
  }

  private mutating func typeFilter(_ key: Key, _ devices: [String], _ page: Int) {
    switch key {
    case .enter: isTypingFilter = false
    case .escape:
      isTypingFilter = false
      filter = ""
    case .backspace: filter = String(filter.dropLast())
    case .character(let character) where filter.count < Self.inputCountMax:
      filter.append(character)
    case .up, .down: move(key, devices, page)
    default: break
    }
  }

  private mutating func pressInDetail(_ key: Key, _ page: Int) -> Effect? {
    guard var detail else { return nil }
    defer { if self.detail != nil { self.detail = detail } }
    let row = detail.selectedRow
    switch key {
    case .escape, .character("b"):
      self.detail = nil
      return .close
    case .character("c"): return .reconnect
    case .enter, .character("r"):
      guard let row, let key = row.key else { return nil }
      if row.isReadable { return .read(key) }
      if row.canBeFollowed { return .toggleSubscription(key) }
      detail.message = "\(row.name) can be neither read nor followed; w writes it."
    case .character("s"):
      guard let row, let key = row.key else { return nil }
      if row.canBeFollowed { return .toggleSubscription(key) }
      detail.message = "\(row.name) can be neither notified nor indicated."
    case .character("w"):
      guard let row, row.key != nil else { return nil }
      if row.isWriteable {
        detail.input = ""
        detail.message = nil
      } else {
        detail.message = "\(row.name) cannot be written."
      }
    default: detail.select(moved: key, page: page)
    }
    return nil
  }

  private mutating func typeValue(_ key: Key) -> Effect? {
    guard let text = detail?.input else { return nil }
    switch key {
    case .escape: detail?.input = nil
    case .backspace: detail?.input = String(text.dropLast())
    case .character(let character) where text.count < Self.inputCountMax:
      detail?.input = text + String(character)
    case .enter:
      detail?.input = nil
      if let key = detail?.selectedRow?.key { return .write(key, text) }
    default: break
    }
    return nil
  }

  /// What `?` shows.
  static let help = [
    "", "  In the list", "    ↑ ↓ or j k     select a device; PgUp PgDn Home End",
    "    Enter          connect and show its services",
    "    /              list only items that contain a text; Esc lists all", "",
    "  In a device", "    ↑ ↓ or j k     select a characteristic",
    "    Enter or r     read it, or follow it where it cannot be read",
    "    s              follow its values; again: stop",
    "    w              write a value, as reads print it; 0x begins bytes,",
    "                   \" begins text",
    "    c              connect again", "    Esc            back to the list", "",
    "    q or Ctrl-C    quit", "", "  Any key goes back.",
  ]
}
