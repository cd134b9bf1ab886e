/// Decides which images of covers are kept, and to which cover a loaded image belongs.
///
/// The cache is bounded: the least recently used image is replaced. An image that is loading has a
/// ticket. An image that arrives after its ticket was cancelled, because the cover's picture
/// changed or the place was needed, is discarded. The caller stores the images, in the same number
/// of places.
public struct CoverImageCache<Key: Hashable & Sendable>: Sendable {
  /// Identifies one attempt to load one image.
  public struct Ticket: Hashable, Sendable {
    /// The index of the image's place, in 0 ..< capacity.
    public var place: Int
    /// A number that differs for each attempt in a place.
    public var attempt: UInt32

    /// Creates a ticket from the values of another.
    public init(place: Int, attempt: UInt32) {
      self.place = place
      self.attempt = attempt
    }
  }

  /// The result of a request for an image.
  public enum Answer: Hashable, Sendable {
    /// The image is in this place.
    case ready(place: Int)
    /// The image is loading; `finish` will return the key of the item that shows it.
    case loading
    /// The image must be loaded. Drop the previous image in the ticket's place.
    case load(Ticket)
    /// The last attempt to load the image failed; `remove` allows another one.
    case failed
    /// All places are in use.
    case full
  }

  /// The outcome of an attempt to load an image.
  public enum Outcome: Hashable, Sendable {
    /// The image belongs to `key`, and may be shown.
    case show(Key)
    /// The image, or its failure, is not needed any more.
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

  /// Creates a cache for `capacity` images, at least one.
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
  /// The number of images that are loaded or loading.
  public var count: Int { places.count }

  /// Requests an image that is needed now.
  ///
  /// - Parameters:
  ///   - key: The image's key.
  ///   - isInUse: Whether an image is shown now, so that it can't be replaced.
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

  /// Completes an attempt. Returns `discard` if the ticket isn't that of a current attempt.
  public mutating func finish(_ ticket: Ticket, isLoaded: Bool) -> Outcome {
    guard entries.indices.contains(ticket.place) else { return .discard }
    let entry = entries[ticket.place]
    guard entry.state == .loading, entry.attempt == ticket.attempt, let key = entry.key else {
      return .discard
    }
    entries[ticket.place].state = isLoaded ? .ready : .failed
    return .show(key)
  }

  /// Removes an image, or cancels its loading, because it changed or isn't needed. Returns its
  /// place.
  @discardableResult
  public mutating func remove(_ key: Key) -> Int? {
    guard let place = places[key] else { return nil }
    free(place)
    retire(place)
    assertInvariants()
    return place
  }

  /// Cancels the loading of an image. Returns its place.
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
