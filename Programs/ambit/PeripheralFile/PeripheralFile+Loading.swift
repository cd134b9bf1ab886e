import PeripheralFiles
package import Simulation

extension PeripheralFile {
  /// Reads the description at a path; `-` is standard input.
  /// - Throws: `CommandFailure` that names the file.
  static func load(_ path: String) throws -> PeripheralFile {
    do throws(PeripheralFileFailure) {
      return try PeripheralFile(contentsOf: path)
    } catch {
      throw CommandFailure(error)
    }
  }
}

extension SimulationFile {
  /// Reads the device or the floor at a path; `-` is standard input.
  /// - Throws: `CommandFailure` that names the file.
  static func load(_ path: String) throws -> SimulationFile {
    do throws(PeripheralFileFailure) {
      return try SimulationFile(contentsOf: path)
    } catch {
      throw CommandFailure(error)
    }
  }
}

extension CommandFailure {
  /// A peripheral file that cannot be read, or makes no sense.
  package init(_ failure: PeripheralFileFailure) {
    switch failure.cause {
    case .unreadable: self.init(.noInput, failure.description)
    case .invalid: self.init(.badData, failure.description)
    }
  }
}
