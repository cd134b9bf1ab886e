#if Messaging
  import AmbitCLI
  import Glibc

  /// The lines of a file descriptor. A longer line than the bound is given as its beginning, one byte longer than the
  /// bound, and its rest is read and dropped.
  final class BoundedLines: Sendable {
    private struct State {
      var bytes: [UInt8] = []
      /// The place of the first byte that isn't in a line that was given.
      var start = 0
      var hasEnded = false
      var isDropping = false
    }

    private let descriptor: Int32
    private let byteCountMax: Int
    private let state = Guarded(State())

    init(_ descriptor: Int32, byteCountMax: Int) {
      self.descriptor = descriptor
      self.byteCountMax = byteCountMax
    }

    /// Waits for the next line, without its end; nil at the end of the input. Malformed UTF-8 is replaced.
    func next() -> String? {
      state.update { state -> String? in
        var searched = state.start
        while true {
          if let end = Self.lineEnd(in: state.bytes, from: searched) {
            let line = state.bytes[state.start..<end]
            let isRest = state.isDropping
            state.isDropping = false
            state.start = end + 1
            searched = state.start
            if !isRest { return text(line) }
            continue
          }
          // Once for all lines that were read together.
          state.bytes.removeSubrange(..<state.start)
          state.start = 0
          searched = state.bytes.count
          if state.isDropping {
            state.bytes.removeAll(keepingCapacity: true)
            searched = 0
          } else if state.bytes.count > byteCountMax {
            defer { state.bytes.removeAll() }
            state.isDropping = true
            return text(state.bytes[...])
          }
          if state.hasEnded {
            defer { state.bytes = [] }
            return state.bytes.isEmpty ? nil : text(state.bytes[...])
          }
          state.hasEnded = !read(into: &state.bytes)
        }
      }
    }

    /// A search of the C library: a line is looked through byte by byte.
    private static func lineEnd(in bytes: [UInt8], from start: Int) -> Int? {
      bytes.withUnsafeBytes { bytes in
        let rest = bytes[start...]
        guard let first = UnsafeRawBufferPointer(rebasing: rest).baseAddress,
          let end = memchr(first, CInt(UInt8(ascii: "\n")), rest.count)
        else { return nil }
        return start + (UnsafeRawPointer(end) - first)
      }
    }

    private func text(_ line: ArraySlice<UInt8>) -> String {
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      return String(decoding: line.prefix(byteCountMax + 1), as: UTF8.self)
    }

    /// False at the end, and after an error.
    private func read(into bytes: inout [UInt8]) -> Bool {
      let part = [UInt8](unsafeUninitializedCapacity: 65_536) { part, count in
        var result: Int
        repeat {
          result = Glibc.read(descriptor, part.baseAddress, part.count)
        } while result < 0 && errno == EINTR
        count = max(0, result)
      }
      bytes += part
      return !part.isEmpty
    }
  }

  /// Lines that were read and not performed yet. At its bounds the reader waits.
  actor LineBuffer {
    static let countMax = 512
    static let byteCountMax = 4 << 20

    private var lines: [String] = []
    private(set) var byteCount = 0
    private var hasEnded = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// False if no more lines are taken.
    func put(_ line: String) async -> Bool {
      while lines.count >= Self.countMax || byteCount >= Self.byteCountMax, !hasEnded {
        await change()
      }
      guard !hasEnded else { return false }
      lines.append(line)
      byteCount += line.utf8.count
      wake()
      return true
    }

    /// All lines, at least one; nil at the end.
    func takeAll() async -> [String]? {
      while lines.isEmpty, !hasEnded { await change() }
      guard !lines.isEmpty else { return nil }
      defer {
        lines = []
        byteCount = 0
        wake()
      }
      return lines
    }

    func end() {
      hasEnded = true
      wake()
    }

    private func change() async {
      await withCheckedContinuation { waiting.append($0) }
    }

    private func wake() {
      let ready = waiting
      waiting = []
      for continuation in ready { continuation.resume() }
    }
  }
#endif
