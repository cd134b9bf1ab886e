import Essentials

/// The exit status of the program, for scripts. The numbers above 63 are those of `sysexits.h`, as
/// far as it has one.
package enum ExitStatus: Int32, CaseIterable {
  /// It was done.
  case success = 0
  /// It was tried and failed: the device refused, the link dropped.
  case failure = 1
  /// The command line makes no sense.
  case usage = 64
  /// A file or a value given makes no sense.
  case badData = 65
  /// A file cannot be read.
  case noInput = 66
  /// No such device, service or characteristic nearby, or more than one.
  case notFound = 68
  /// The radio is missing, switched off, or vanished.
  case radioUnavailable = 69
  /// A file cannot be written.
  case cannotCreate = 73
  /// The time given with `--timeout` was over before it was done.
  case timedOut = 75
  /// This user may not use the radio, or give an interface an address.
  case notPermitted = 77
  /// The radio is `none`: none is to be used, not even a simulated one.
  case noRadio = 78
  /// Ctrl-C. The process ends by the signal, which shells show as this status.
  case interrupted = 130
  /// Asked to end by a signal, as above.
  case terminated = 143

  /// The table in the help.
  package static let help = """
    EXIT STATUS:
      0    done                             69   radio missing, off or vanished
      1    tried and failed                 73   a file cannot be written
      64   wrong command line               75   not done within --timeout
      65   wrong value or file content      77   no permission for that
      66   a file cannot be read            78   the radio is "none"
      68   not found, or more than one      130  SIGINT: Ctrl-C
                                            143  SIGTERM

    After SIGINT, SIGTERM and SIGHUP the process cleans up and ends by the signal \
    itself, which a shell shows as 128 and its number. For a service that must never \
    get simulated devices, name its radio, or AMBIT_RADIO=none: without a name the \
    devices are simulated where no controller can be opened.
    """
}

/// Why a command ends early: one sentence for people and a status for scripts.
package struct CommandFailure: Error, Hashable {
  package var status: ExitStatus
  /// One sentence, without a full stop.
  package var sentence: String
  /// Whether a device refused one operation; others may still work.
  var isRefusal = false
  /// Whether it was refused because the link isn't protected as the value needs it: there was no pairing.
  var lacksProtection = false

  /// The reason alone, for contexts in which the refused operation is clear.
  package var reason: String {
    guard isRefusal else { return sentence }
    return sentence.split(separator: " was refused: ", maxSplits: 1).last.map(String.init)
      ?? sentence
  }

  package init(_ status: ExitStatus, _ sentence: String) {
    self.status = status
    self.sentence = sentence
  }
}

extension CommandFailure: CustomStringConvertible {
  package var description: String { sentence }
}
