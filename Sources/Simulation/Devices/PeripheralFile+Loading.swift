internal import Glibc
public import PeripheralFiles

/// The reason why a file can't be used.
public struct PeripheralFileFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The cause of the error.
  public enum Cause: Hashable, Sendable {
    /// The file cannot be read; with the description from the operating system.
    case unreadable(String)
    /// The content of the file is invalid.
    case invalid(PeripheralFileError)
  }

  /// The file.
  public var path: String
  /// The cause of the error.
  public var cause: Cause

  /// One sentence, without a full stop.
  public var description: String {
    switch cause {
    case .unreadable(let reason): "\(path) cannot be read: \(reason)"
    case .invalid(let error): "\(path): \(error)"
    }
  }
}

extension PeripheralFile {
  /// Parses the file at a path; `-` is standard input. Blocks until it is read.
  public init(contentsOf path: String) throws(PeripheralFileFailure) {
    let bytes = try FileBytes.read(path)
    do throws(PeripheralFileError) {
      try self.init(bytes)
    } catch {
      throw PeripheralFileFailure(path: path, cause: .invalid(error))
    }
  }
}

extension SimulationFile {
  /// Parses the device or floor file at a path; `-` is standard input. Blocks until it is read.
  public init(contentsOf path: String) throws(PeripheralFileFailure) {
    let bytes = try FileBytes.read(path)
    do throws(PeripheralFileError) {
      try self.init(bytes)
    } catch {
      throw PeripheralFileFailure(path: path, cause: .invalid(error))
    }
  }
}

/// What a file holds.
private enum FileBytes {
  static func read(_ path: String) throws(PeripheralFileFailure) -> [UInt8] {
    typealias Limits = PeripheralFile.Limits
    let descriptor = path == "-" ? STDIN_FILENO : unsafe open(path, O_RDONLY | O_CLOEXEC)
    defer { if descriptor > STDIN_FILENO { close(descriptor) } }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    // One byte more than allowed is enough to know that it is too long.
    while descriptor >= 0, bytes.count <= Limits.byteCount {
      let count = unsafe chunk.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      }
      if count == 0 { return bytes }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    if bytes.count > Limits.byteCount { return bytes }
    throw PeripheralFileFailure(path: path, cause: .unreadable(reason(errno)))
  }

  private static func reason(_ code: Int32) -> String {
    switch code {
    case ENOENT: return "no such file"
    case EACCES: return "permission denied"
    case EISDIR: return "it is a folder"
    default: return unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
  }
}
