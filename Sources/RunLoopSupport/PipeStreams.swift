internal import EventLoop
package import Foundation
internal import Synchronization

/// Creates the two streams of a pipe.
package enum PipeStreams {
  /// Creates the streams. The pipe is closed when both are closed or released.
  package static func pair(_ pipe: any BytePipe) -> (input: InputStream, output: OutputStream) {
    let ends = PipeEnds(pipe: pipe)
    return (PipeInputStream(pipe: pipe, ends: ends), PipeOutputStream(pipe: pipe, ends: ends))
  }
}

/// Counts the open ends of a pipe: when both streams are closed, so is the pipe.
private final class PipeEnds: Sendable {
  private let pipe: any BytePipe
  private let openCount = Mutex(2)

  init(pipe: any BytePipe) { self.pipe = pipe }

  func closeOne() {
    let isLast = openCount.withLock { count in
      count -= 1
      return count == 0
    }
    if isLast { pipe.close() }
  }
}

/// What the streams of a pipe have in common: status, delegate, run loops.
private final class StreamCore: @unchecked Sendable {
  // Unchecked: everything that changes is guarded by `lock`.

  private let lock = SharedLock()
  private weak var stream: Stream?
  private weak var explicitDelegate: (any StreamDelegate)?
  private var phase = Phase.notOpen
  private var sources: [RunLoopSource] = []
  private let pipe: any BytePipe
  private let ends: PipeEnds
  private var didReportEnd = false
  private var didReportOpen = false

  private enum Phase { case notOpen, open, closed }

  private let side: Side

  enum Side { case input, output }

  init(_ side: Side, of pipe: any BytePipe, ends: PipeEnds) {
    self.side = side
    self.pipe = pipe
    self.ends = ends
  }

  /// The event that the pipe is ready for now; nil if it is for none.
  private var readyEvent: Stream.Event? {
    switch side {
    case .input: pipe.hasBytes ? .hasBytesAvailable : nil
    case .output: pipe.hasSpace ? .hasSpaceAvailable : nil
    }
  }

  private var ending: PipeEnding? {
    switch side {
    case .input: pipe.inputEnding
    case .output: pipe.ending
    }
  }

  func attach(_ stream: Stream) { lock.withLock { self.stream = stream } }

  var delegate: (any StreamDelegate)? {
    get { lock.withLock { explicitDelegate ?? stream as? any StreamDelegate } }
    set {
      lock.withLock { explicitDelegate = newValue }
      // Events that came without a delegate are pending.
      signal()
    }
  }

  var isOpen: Bool { lock.withLock { phase == .open } }

  var status: Stream.Status {
    // The event first: what ends after it was looked at has no event any more either.
    let event = readyEvent
    switch lock.withLock({ phase }) {
    case .notOpen: return .notOpen
    case .closed: return .closed
    case .open: break
    }
    switch ending {
    case nil: return pipe.isConnected ? .open : .opening
    case .closed: return event == nil ? .atEnd : .open
    case .failed: return event == nil ? .error : .open
    }
  }

  var error: (any Error)? {
    if case .failed(let error) = ending { error } else { nil }
  }

  func open() {
    let isFirst = lock.withLock {
      defer { if phase == .notOpen { phase = .open } }
      return phase == .notOpen
    }
    if isFirst { pipe.open() }
    signal()
  }

  func close() {
    let (wasClosed, sources) = lock.withLock {
      defer {
        phase = .closed
        self.sources = []
      }
      return (phase == .closed, self.sources)
    }
    guard !wasClosed else { return }
    for source in sources { source.invalidate() }
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

  /// Calls the delegate with the pending events. On a run loop.
  private func deliver() {
    guard delegate != nil else { return }
    let (event, isConnected, ending) = (readyEvent, pipe.isConnected, ending)
    let (stream, events) = lock.withLock {
      (self.stream, nextEvents(event, isConnected: isConnected, ending))
    }
    guard let stream else { return }
    for event in events where isOpen { delegate?.stream(stream, handle: event) }
  }

  private func nextEvents(
    _ ready: Stream.Event?, isConnected: Bool, _ ending: PipeEnding?
  ) -> [Stream.Event] {
    guard phase == .open else { return [] }
    var events: [Stream.Event] = []
    if !didReportOpen, isConnected {
      didReportOpen = true
      events.append(.openCompleted)
    }
    if let ready, didReportOpen {
      events.append(ready)
    } else if let ending, !didReportEnd {
      didReportEnd = true
      if case .failed = ending {
        events.append(.errorOccurred)
      } else {
        events.append(.endEncountered)
      }
    }
    return events
  }
}

/// The receiving stream of a pipe.
private final class PipeInputStream: InputStream {
  private let pipe: any BytePipe
  private let core: StreamCore

  init(pipe: any BytePipe, ends: PipeEnds) {
    self.pipe = pipe
    core = StreamCore(.input, of: pipe, ends: ends)
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
  override var hasBytesAvailable: Bool { core.isOpen && pipe.hasBytes }
  override func open() { core.open() }
  override func close() { core.close() }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    guard core.isOpen, len > 0 else { return core.isOpen ? 0 : -1 }
    let bytes = pipe.read(len)
    if bytes.isEmpty, case .failed = pipe.inputEnding { return -1 }
    buffer.update(from: bytes, count: bytes.count)
    // A delegate that took a part is called again for the rest.
    if pipe.hasBytes || pipe.inputEnding != nil { core.signal() }
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
  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { pipe.property(for: key) }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
    pipe.setProperty(property, for: key)
  }
}

/// The sending stream of a pipe.
private final class PipeOutputStream: OutputStream {
  private let pipe: any BytePipe
  private let core: StreamCore

  init(pipe: any BytePipe, ends: PipeEnds) {
    self.pipe = pipe
    core = StreamCore(.output, of: pipe, ends: ends)
    super.init(toMemory: ())
    core.attach(self)
    pipe.observeOutput { [weak core] in core?.signal() }
  }

  @available(*, unavailable)
  required init(toMemory: ()) {
    preconditionFailure("a pipe's streams are made with PipeStreams.pair")
  }

  deinit { core.close() }

  override var delegate: (any StreamDelegate)? {
    get { core.delegate }
    set { core.delegate = newValue }
  }
  override var streamStatus: Stream.Status { core.status }
  override var streamError: (any Error)? { core.error }
  override var hasSpaceAvailable: Bool { core.isOpen && pipe.hasSpace }
  override func open() { core.open() }
  override func close() { core.close() }

  override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
    guard core.isOpen, len > 0 else { return core.isOpen ? 0 : -1 }
    let count = pipe.write(UnsafeBufferPointer(start: buffer, count: len))
    if count == 0 { return -1 }
    if pipe.hasSpace { core.signal() }
    return count
  }

  override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    core.schedule(in: aRunLoop, forMode: mode)
  }
  override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
    core.remove(from: aRunLoop, forMode: mode)
  }
  override func property(forKey key: Stream.PropertyKey) -> AnyObject? {
    key == .unsentPipeByteCountKey
      ? NSNumber(value: pipe.unsentByteCount) : pipe.property(for: key)
  }
  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
    pipe.setProperty(property, for: key)
  }
}

extension Stream.PropertyKey {
  /// The number of bytes in a pipe's output stream that are not sent yet, as an `NSNumber`.
  package static let unsentPipeByteCountKey = Stream.PropertyKey(
    rawValue: "ambit.unsentByteCount")
}
