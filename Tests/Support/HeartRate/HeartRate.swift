import CoreBluetooth
import Foundation

#if DEBUG
  @testable import AppCode

  /// `heart-rate monitor` runs the app code of `Examples/AppCode` as it is: it follows the first strap until four values
  /// have come, of which the second is followed by a write. `heart-rate strap` is a strap, until it is ended. Both print
  /// what the app code logs, as tests of Interop read it.
  @main
  enum HeartRate {
    @MainActor
    static func main() {
      switch CommandLine.arguments.dropFirst().first {
      case "monitor": monitor()
      case "strap": strap()
      default: exit("Usage: heart-rate monitor|strap", status: 64)
      }
    }

    @MainActor
    private static func monitor() {
      let monitor = HeartRateMonitor()
      var (printed, hasReset, hasLeft) = (0, false, false)
      while monitor.log.last != "disconnected" {
        runLoop()
        print(monitor.log, from: &printed)
        let rates = monitor.log.count { $0.hasPrefix("rate") }
        if rates >= 2, !hasReset {
          monitor.resetEnergy()
          hasReset = true
        }
        if rates >= 4, !hasLeft, monitor.log.contains("reset") {
          monitor.disconnect()
          hasLeft = true
        }
      }
    }

    @MainActor
    private static func strap() {
      let strap = HeartRateStrap()
      var (printed, rate) = (0, 60 as UInt8)
      while true {
        runLoop()
        print(strap.log, from: &printed)
        guard strap.log.contains("subscribed") else { continue }
        rate = rate == 200 ? 60 : rate + 1
        strap.measure(rate)
      }
    }

    @MainActor
    private static func runLoop() {
      RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1))
    }

    private static func print(_ log: [String], from printed: inout Int) {
      for line in log.dropFirst(printed) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
      }
      printed = log.count
    }
  }
#else
  // Only debug builds see the classes of a module for apps.
  @main
  enum HeartRate {
    static func main() { exit("heart-rate is built without optimization only.", status: 70) }
  }
#endif

/// Writes a sentence to standard error, and ends the process with a status of `sysexits.h`.
private func exit(_ sentence: String, status: Int32) -> Never {
  FileHandle.standardError.write(Data((sentence + "\n").utf8))
  exit(status)
}
