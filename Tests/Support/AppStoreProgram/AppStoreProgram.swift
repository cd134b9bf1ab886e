#if AppDatabase
  import AppDatabase
  import AppMachines
  import AppManagerHost
  import Glibc

  /// Writes into a store of apps, for a test that ends this process at any write:
  /// `app-store-program PATH COUNT BYTES` makes COUNT writes and prints the number of each; BYTES is the maximum size of
  /// a file, beyond which a write ends the process. 0: no limit.
  @main
  enum AppStoreProgram {
    static func main() {
      let arguments = CommandLine.arguments
      guard arguments.count == 4, let count = Int(arguments[2]), let byteCount = UInt(arguments[3])
      else { exit(64) }
      if byteCount > 0 {
        // A process inherits what the process before it has blocked and ignored.
        signal(SIGXFSZ, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGXFSZ)
        sigprocmask(SIG_UNBLOCK, &signals, nil)
        var limit = rlimit(rlim_cur: byteCount, rlim_max: byteCount)
        guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(70) }
      }
      let store = AppStoreDatabase(path: arguments[1], importing: arguments[1] + ".json")
      do {
        let contents = try store.read()
        let first = contents.managers.first.flatMap { Int($0.manager) } ?? 0
        for number in first + 1...first + count {
          try store.write(Self.contents(number))
          print(number)
          fflush(nil)
        }
      } catch {
        print("error: \(error)")
        exit(1)
      }
    }

    /// Each row has the number; the lists become longer and shorter.
    private static func contents(_ number: Int) -> AppStoreContents {
      let length = 1 + number % 5
      return AppStoreContents(
        apps: (0..<length).map { index in
          InstalledAppRecord(
            identifier: "app-\(index)", folder: "/\(number)",
            description: AppDescription(modes: .bluetoothCentral))
        },
        managers: (0..<length).map { index in
          PreservedManagerRecord(
            app: "app-\(index)", manager: "\(number)",
            holdings: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 400))
        })
    }
  }
#else
  @main
  enum AppStoreProgram {
    static func main() {}
  }
#endif
