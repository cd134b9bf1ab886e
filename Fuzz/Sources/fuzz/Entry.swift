import Foundation
import FuzzTargets

/// The fuzzer that `AMBIT_FUZZ` names; `Fuzz/run` sets it.
private let chosen: FuzzTarget = {
  let name = ProcessInfo.processInfo.environment["AMBIT_FUZZ"] ?? ""
  guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
    let known = FuzzTarget.all.map(\.name).joined(separator: " ")
    FileHandle.standardError.write(
      Data("No fuzzer is called '\(name)'. There are: \(known)\n".utf8))
    exit(64)
  }
  return target
}()

/// What libFuzzer calls with each input; the bytes are valid for the length of the call.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  chosen.run(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}
