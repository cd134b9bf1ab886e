import EventLoop
import Foundation
import Glibc

// The beginning of a process of an app.
//
// The process is the test's program, started again, and its main function would run the tests. The system calls the
// functions of this section before main, as it does with the constructors of C and C++
// (System V ABI, "Initialization and Termination Functions"). So a test needs no line for it. In all other
// processes the function returns at once.

#if compiler(>=6.3)
  @section(".init_array") @used
  private let beginning: @convention(c) () -> Void = { beginAppProcess() }
#else
  @_section(".init_array") @_used
  private let beginning: @convention(c) () -> Void = { beginAppProcess() }
#endif

/// Runs the app of this process, if a phone has started the process for one, and doesn't return then.
private func beginAppProcess() {
  guard ProcessEnvironment.value(SpawnedProcess.variable) != nil else { return }
  unsetenv(SpawnedProcess.variable)
  for descriptor in [SpawnedProcess.socket, SpawnedProcess.output] {
    guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
      // Not on the standard error, which may be one of them.
      _exit(1)
    }
  }
  StandardOutput.divideIntoLines()
  let runtime = AppRuntime(
    ProcessChannel(owning: SpawnedProcess.socket), OutputPipe(owning: SpawnedProcess.output))
  guard runtime.start() else { _exit(1) }
  RunLoop.main.run()
  dispatchMain()
}
