/// A picture as a browser takes it.
public struct Picture: Sendable, Equatable {
  /// The content of the file.
  public var bytes: [UInt8]
  /// What it is, such as `image/png`.
  public var mediaType: String

  /// A picture.
  public init(_ bytes: [UInt8], mediaType: String) {
    self.bytes = bytes
    self.mediaType = mediaType
  }
}

/// Loads requested pictures in the background: each once, however many tasks wait for it, and a few
/// at a time. The most recently requested ones are kept, up to a limit.
public actor PictureStore<Failure: Error> {
  private let byteCountMax: Int
  private let loadCountMax: Int
  private let load: @Sendable @concurrent (String) async throws(Failure) -> Picture?

  private var kept: [String: (picture: Picture, lastUse: UInt64)] = [:]
  private var useCount: UInt64 = 0
  private var loading: [String: Task<Result<Picture?, Failure>, Never>] = [:]
  private var loadCount = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// The bytes of the pictures that are kept.
  public private(set) var byteCount = 0

  /// Makes an empty store.
  ///
  /// - Parameters:
  ///   - byteCountMax: The number of bytes that are kept; a larger picture is loaded each time.
  ///   - loadCountMax: How many are loaded at a time; the others wait, in order.
  ///   - load: Loads the picture of a name, on any thread; returns nil if the picture doesn't
  ///     exist. Its error is thrown to all tasks that wait for the picture.
  public init(
    byteCountMax: Int, loadCountMax: Int,
    load: @escaping @Sendable @concurrent (_ name: String) async throws(Failure) -> Picture?
  ) {
    self.byteCountMax = byteCountMax
    self.loadCountMax = max(1, loadCountMax)
    self.load = load
  }

  /// The picture of a name; nil if it doesn't exist. In that case, and after a failure, it is
  /// loaded again the next time.
  public func picture(named name: String) async throws(Failure) -> Picture? {
    useCount += 1
    if let picture = kept[name]?.picture {
      kept[name]?.lastUse = useCount
      return picture
    }
    if let task = loading[name] { return try await task.value.get() }
    let task = Task { await loadInTurn(name) }
    loading[name] = task
    let result = await task.value
    loading[name] = nil
    let picture = try result.get()
    if let picture { keep(picture, name) }
    return picture
  }

  private func loadInTurn(_ name: String) async -> Result<Picture?, Failure> {
    if loadCount < loadCountMax {
      loadCount += 1
    } else {
      // A finished load resumes the next waiting one, which takes its place.
      await withCheckedContinuation { waiting.append($0) }
    }
    defer { if waiting.isEmpty { loadCount -= 1 } else { waiting.removeFirst().resume() } }
    do throws(Failure) {
      return .success(try await load(name))
    } catch {
      return .failure(error)
    }
  }

  private func keep(_ picture: Picture, _ name: String) {
    guard picture.bytes.count <= byteCountMax else { return }
    kept[name] = (picture, useCount)
    byteCount += picture.bytes.count
    while byteCount > byteCountMax,
      let oldest = kept.min(by: { $0.value.lastUse < $1.value.lastUse })?.key,
      let removed = kept.removeValue(forKey: oldest)
    {
      byteCount -= removed.picture.bytes.count
    }
  }
}
