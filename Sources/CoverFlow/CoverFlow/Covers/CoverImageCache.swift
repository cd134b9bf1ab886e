/// Which images of covers are kept, and which cover a loaded image belongs to.
///
/// Bounded: the image that was not used for the longest time gives way. An image that is loading has a
/// ticket; one that arrives after its ticket was taken back, because its cover's picture changed or its place
/// was needed, is not shown anywhere. The images themselves are the caller's, in as many places.
public struct CoverImageCache<Key: Hashable & Sendable>: Sendable {
  /// Stands for one attempt to load one image.
  public struct Ticket: Hashable, Sendable {
    /// The image's place, in 0 ..< capacity.
    public var place: Int
    /// Differs for each attempt in one place.
    public var attempt: UInt32

    /// A ticket from its parts, as they were given out.
    public init(place: Int, attempt: UInt32) {
      self.place = place
      self.attempt = attempt
    }
  }

  /// What is to be done for an image that is needed.
  public enum Answer: Hashable, Sendable {
    /// It is in this place.
    case ready(place: Int)
    /// It is on its way; `finish` will say where it is shown.
    case loading
    /// It has to be loaded. What was in the ticket's place before is to be dropped.
    case load(Ticket)
    /// It could not be loaded when it was tried last; `remove` allows another attempt.
    case failed
    /// There is no room: all images are in use.
    case full
  }

  /// What an attempt to load an image came to.
  public enum Outcome: Hashable, Sendable {
    /// The image is that of `key`, and may be shown where that is.
    case show(Key)
    /// The image, or its failure, belongs to nobody any more.
    case discard
  }

  private enum State: Hashable, Sendable { case free, loading, ready, failed }

  private struct Entry: Sendable {
    var key: Key?
    var state = State.free
    var attempt: UInt32 = 0
    var newer: Int?
    var older: Int?
  }

  private var entries: [Entry]
  var places: [Key: Int] = [:]
  /// Most and least recently used; free places are the least recently used ones.
  var newest = 0
  var oldest: Int

  /// A cache for so many images, at least one.
  public init(capacity: Int) {
    let count = max(1, capacity)
    oldest = count - 1
    entries = (0..<count).map { place in
      var entry = Entry()
      entry.newer = place > 0 ? place - 1 : nil
      entry.older = place < count - 1 ? place + 1 : nil
      return entry
    }
  }

  /// The number of places for images.
  public var capacity: Int { entries.count }
  /// How many images there are, or are on their way.
  public var count: Int { places.count }

  /// Asks for an image that is needed now.
  ///
  /// - Parameters:
  ///   - key: Which.
  ///   - isInUse: Whether an image is shown now, and must stay.
  public mutating func request(_ key: Key, isInUse: (Key) -> Bool) -> Answer {
    if let place = places[key] {
      use(place)
      switch entries[place].state {
      case .ready: return .ready(place: place)
      case .loading: return .loading
      case .failed: return .failed
      case .free: preconditionFailure("a free place has no key")
      }
    }
    guard let place = placeToGive(isInUse) else { return .full }
    free(place)
    entries[place].key = key
    entries[place].state = .loading
    places[key] = place
    use(place)
    assertInvariants()
    return .load(Ticket(place: place, attempt: entries[place].attempt))
  }

  /// Takes the result of an attempt; what has a ticket of no attempt that is under way is discarded.
  public mutating func finish(_ ticket: Ticket, isLoaded: Bool) -> Outcome {
    guard entries.indices.contains(ticket.place) else { return .discard }
    let entry = entries[ticket.place]
    guard entry.state == .loading, entry.attempt == ticket.attempt, let key = entry.key else {
      return .discard
    }
    entries[ticket.place].state = isLoaded ? .ready : .failed
    return .show(key)
  }

  /// Takes back what there is of an image, because it changed or is not needed; returns its place.
  @discardableResult
  public mutating func remove(_ key: Key) -> Int? {
    guard let place = places[key] else { return nil }
    free(place)
    retire(place)
    assertInvariants()
    return place
  }

  /// Takes back an image that is still on its way; returns its place.
  @discardableResult
  public mutating func cancel(_ key: Key) -> Int? {
    guard let place = places[key], entries[place].state == .loading else { return nil }
    return remove(key)
  }

  /// What does not hold though it must.
  func violations() -> [StaticString] {
    var found: [StaticString] = []
    for (key, place) in places where entries[place].key != key {
      found.append("an image is in the place of another")
    }
    if entries.count(where: { $0.key != nil }) != places.count {
      found.append("an image has one place")
    }
    for entry in entries where (entry.key == nil) != (entry.state == .free) {
      found.append("a place is free where there is no image")
    }
    // From the most recently used one on, each place comes once.
    var (place, count) = (Int?.some(newest), 0)
    while let here = place, count < entries.count {
      count += 1
      place = entries[here].older
      if let place, entries[place].newer != here { found.append("neighbours know each other") }
      if place == nil, here != oldest { found.append("the last place is the oldest") }
    }
    if place != nil || count != entries.count { found.append("all places are in one row") }
    return found
  }

  /// Stops a debug build whose cache contradicts itself. Release builds check nothing.
  private func assertInvariants() {
    #if !hasFeature(Embedded)
      assert(violations().isEmpty, violations().map(\.description).joined(separator: "; "))
    #endif
  }

  private func placeToGive(_ isInUse: (Key) -> Bool) -> Int? {
    var place: Int? = oldest
    while let candidate = place {
      guard let key = entries[candidate].key, isInUse(key) else { return candidate }
      place = entries[candidate].newer
    }
    return nil
  }

  private mutating func free(_ place: Int) {
    if let key = entries[place].key { places[key] = nil }
    entries[place].key = nil
    entries[place].state = .free
    entries[place].attempt &+= 1
  }

  /// Makes a place the most recently used.
  private mutating func use(_ place: Int) {
    guard place != newest else { return }
    unlink(place)
    entries[place].older = newest
    entries[newest].newer = place
    newest = place
  }

  /// Makes a place the least recently used.
  private mutating func retire(_ place: Int) {
    guard place != oldest else { return }
    unlink(place)
    entries[place].newer = oldest
    entries[oldest].older = place
    oldest = place
  }

  private mutating func unlink(_ place: Int) {
    let entry = entries[place]
    assert(entry.newer != entry.older, "a place has no neighbours, or one twice")
    if let newer = entry.newer {
      entries[newer].older = entry.older
    } else if let older = entry.older {
      newest = older
    }
    if let older = entry.older {
      entries[older].newer = entry.newer
    } else if let newer = entry.newer {
      oldest = newer
    }
    entries[place].newer = nil
    entries[place].older = nil
  }
}
