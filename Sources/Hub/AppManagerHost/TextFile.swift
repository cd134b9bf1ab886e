import EventLoop
import Glibc

/// Small files of the kernel.
enum TextFile {
  /// As much as an environment and its arguments may take (execve(2)).
  private static let byteCountMax = 1 << 22

  static func read(_ path: String) -> String? {
    bytes(path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The whole contents, up to a bound; nil if the file can't be read.
  static func bytes(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while bytes.count < byteCountMax {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }

  /// The whole contents, up to a bound; nil if there is no such file, or this user may not read it.
  ///
  /// - Throws: If it can't be read for another reason, such as a shortage of descriptors.
  static func contents(_ path: String) throws(SystemError) -> [UInt8]? {
    if let bytes = bytes(path) { return bytes }
    let error = SystemError.current
    switch error.number {
    case ENOENT, ESRCH, ENOTDIR, EACCES, EPERM: return nil
    default: throw error
    }
  }

  /// What a symbolic link contains; nil for another file.
  static func link(_ path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &buffer, buffer.count)
    return count < 0
      ? nil : String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The names in a folder, in no order.
  static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var found: [String] = []
    while let item = readdir(stream) {
      found.append(
        withUnsafePointer(to: &item.pointee.d_name) { pointer in
          pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return found
  }

  /// Returns whether the kernel has taken it.
  static func write(_ text: String, to path: String) -> Bool {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    return Glibc.write(descriptor, bytes, bytes.count) == bytes.count
  }
}
