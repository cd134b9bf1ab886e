import Glibc

/// The program of this process.
package enum ThisProgram {
  /// The name of the executable; "app" if it can't be found out.
  package static var name: String {
    let path = unsafe [CChar](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      count = unsafe max(0, readlink("/proc/self/exe", start, buffer.count))
    }
    let name = path.map(UInt8.init(bitPattern:)).split(separator: UInt8(ascii: "/")).last
    return name.map { String(decoding: $0, as: UTF8.self) } ?? "app"
  }
}
