internal import Synchronization

/// Counts the open ends of a channel: when both streams are closed, so is the channel.
final class ChannelEnds: Sendable {
  private let pipe: ChannelPipe
  private let openCount = Mutex(2)

  init(pipe: ChannelPipe) { self.pipe = pipe }

  func closeOne() {
    let isLast = openCount.withLock { count in
      count -= 1
      return count == 0
    }
    if isLast { pipe.close() }
  }
}

/// What the streams of a channel have in common: status, delegate, run loops.
final class StreamCore: @unchecked Sendable {
  // Unchecked: everything that changes is guarded by `lock`.

  private let lock = NSLock()
  private weak var stream: Stream?
  private weak var explicitDelegate: (any StreamDelegate)?
  private var phase = Phase.notOpen
  private var sources: [RunLoopSource] = []
  private let ends: ChannelEnds
  /// Told that the end or an error was reported.
  private var didReportEnd = false
  private var didReportOpen = false

  private enum Phase { case notOpen, open, closed }

  /// What the stream's events depend on.
  struct Readiness {
    var event: Stream.Event?
    var end: ChannelPipe.Ending?
  }

  private let readiness: @Sendable () -> Readiness

  init(ends: ChannelEnds, readiness: @escaping @Sendable () -> Readiness) {
    self.ends = ends
    self.readiness = readiness
  }

  func attach(_ stream: Stream) { lock.withLock { self.stream = stream } }

  var delegate: (any StreamDelegate)? {
    get { lock.withLock { explicitDelegate ?? stream as? any StreamDelegate } }
    set { lock.withLock { explicitDelegate = newValue } }
  }

  var isOpen: Bool { lock.withLock { phase == .open } }

  var status: Stream.Status {
    let ready = readiness()
    switch lock.withLock({ phase }) {
    case .notOpen: return .notOpen
    case .closed: return .closed
    case .open: break
    }
    switch ready.end {
    case nil: return .open
    case .closed: return ready.event == nil ? .atEnd : .open
    case .failed: return ready.event == nil ? .error : .open
    }
  }

  var error: (any Error)? {
    guard case .failed(let error) = readiness().end else { return nil }
    return error.coreBluetoothError
  }

  func open() {
    lock.withLock { if phase == .notOpen { phase = .open } }
    signal()
  }

  func close() {
    let (wasClosed, sources) = lock.withLock {
      defer { phase = .closed }
      return (phase == .closed, self.sources)
    }
    guard !wasClosed else { return }
    for source in sources { source.invalidate() }
    lock.withLock { self.sources = [] }
    ends.closeOne()
  }

  func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    let source = RunLoopSource(runLoop: runLoop, mode: mode) { [weak self] in self?.deliver() }
    lock.withLock { sources.append(source) }
    signal()
  }

  func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
    let removed = lock.withLock {
      let removed = sources.filter { $0.isIn(runLoop, mode) }
      sources.removeAll { $0.isIn(runLoop, mode) }
      return removed
    }
    for source in removed { source.invalidate() }
  }

  /// Something changed: have the delegate called on the run loops.
  func signal() {
    for source in lock.withLock({ sources }) { source.signal() }
  }

  /// On a run loop: tells the delegate what there is.
  private func deliver() {
    let ready = readiness()
    let (stream, events) = lock.withLock { (self.stream, nextEvents(ready)) }
    guard let stream else { return }
    for event in events where isOpen { delegate?.stream(stream, handle: event) }
  }

  private func nextEvents(_ ready: Readiness) -> [Stream.Event] {
    guard phase == .open else { return [] }
    var events: [Stream.Event] = []
    if !didReportOpen {
      didReportOpen = true
      events.append(.openCompleted)
    }
    if let event = ready.event {
      events.append(event)
    } else if let end = ready.end, !didReportEnd {
      didReportEnd = true
      if case .failed = end {
        events.append(.errorOccurred)
      } else {
        events.append(.endEncountered)
      }
    }
    return events
  }
}

/// The receiving stream of a channel.
final class ChannelInputStream: InputStream {
  private let pipe: ChannelPipe
  private let core: StreamCore

  init(pipe: ChannelPipe, ends: ChannelEnds) {
    self.pipe = pipe
    core = StreamCore(ends: ends) {
      StreamCore.Readiness(
        event: pipe.availableByteCount > 0 ? .hasBytesAvailable : nil, end: pipe.end)
    }
    super.init(data: Data())
    core.attach(self)
    pipe.observeInput { [weak core] in core?.signal() }
  }

  deinit { core.close() }

  override var delegate: (any StreamDelegate)? {
    get { core.delegate }
    set { core.delegate = newValue }
  }
  override var streamStatus: Stream.Status { core.status }
  override var streamError: (any Error)? { core.error }
  override var hasBytesAvailable: Bool { core.isOpen && pipe.availableByteCount > 0 }
  override func open() { core.open() }
  override func close() { core.close() }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    guard core.isOpen, len > 0 else { return core.isOpen ? 0 : -1 }
    let bytes = pipe.read(len)
    if bytes.isEmpty, case .failed = pipe.end { return -1 }
    buffer.update(from: bytes, count: bytes.count)
    // A delegate that took a part is called again for the rest.
    if pipe.availableByteCount > 0 || pipe.end != nil { core.signal() }
    return bytes.count
  }

  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
    length len: UnsafeMutablePointer<Int>
  ) -> Bool { false }

  override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    core.schedule(in: aRunLoop, forMode: mode)
  }
  override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    core.remove(from: aRunLoop, forMode: mode)
  }
  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
    false
  }
}

/// The sending stream of a channel.
final class ChannelOutputStream: OutputStream {
  private let pipe: ChannelPipe
  private let core: StreamCore

  init(pipe: ChannelPipe, ends: ChannelEnds) {
    self.pipe = pipe
    core = StreamCore(ends: ends) {
      StreamCore.Readiness(event: pipe.space > 0 ? .hasSpaceAvailable : nil, end: pipe.end)
    }
    super.init(toMemory: ())
    core.attach(self)
    pipe.observeOutput { [weak core] in core?.signal() }
  }

  @available(*, unavailable)
  required init(toMemory: ()) {
    preconditionFailure("a channel's stream is made with the channel")
  }

  deinit { core.close() }

  override var delegate: (any StreamDelegate)? {
    get { core.delegate }
    set { core.delegate = newValue }
  }
  override var streamStatus: Stream.Status { core.status }
  override var streamError: (any Error)? { core.error }
  override var hasSpaceAvailable: Bool { core.isOpen && pipe.space > 0 }
  override func open() { core.open() }
  override func close() { core.close() }

  override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
    guard core.isOpen, len > 0 else { return core.isOpen ? 0 : -1 }
    let count = pipe.write(UnsafeBufferPointer(start: buffer, count: len))
    if count == 0 { return -1 }
    if pipe.space > 0 { core.signal() }
    return count
  }

  override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    core.schedule(in: aRunLoop, forMode: mode)
  }
  override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    core.remove(from: aRunLoop, forMode: mode)
  }
  override func property(forKey key: Stream.PropertyKey) -> AnyObject? {
    key == .unsentByteCountKey ? NSNumber(value: pipe.unsentByteCount) : nil
  }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
    false
  }
}

extension Stream.PropertyKey {
  /// How many bytes of a channel's output stream wait to be sent, as an `NSNumber`: closing the
  /// channel earlier loses them. Not part of Apple's interface.
  public static let unsentByteCountKey = Stream.PropertyKey(rawValue: "ambit.unsentByteCount")
}
