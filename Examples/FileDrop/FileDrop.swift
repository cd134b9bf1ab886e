import Binding
import Foundation
import Reactive

/// A form that takes files and moves them into a folder: the view model.
final class FileDrop: ViewModel {
  let upload = Upload(byteCountMax: 100_000_000, countMax: 10)
  /// The names of the files in the folder.
  let kept: Property<[String]>
  let keep: Action<Void, Never, KeepError>

  static let bindings: Bindings<FileDrop> = [
    "files": .upload(\.upload), "kept": .oneWay(\.kept), "keep": .action(\.keep, error: \.text),
  ]

  struct KeepError: Error {
    var text: String
  }

  init(folder: URL) {
    let (upload, kept) = (upload, MutableProperty(Self.names(in: folder)))
    self.kept = Property(capturing: kept)
    let isReady = upload.files.combineLatest(with: upload.isReceiving).map { files, isReceiving in
      files.contains { $0.path != nil } && !isReceiving
    }
    keep = Action(enabledIf: isReady) {
      SignalProducer { observer, _ in
        MainActor.assumeIsolated {
          do {
            for file in upload.files.value { try Self.keep(file, of: upload, in: folder) }
            observer.sendCompleted()
          } catch {
            observer.send(error: KeepError(text: "A file can't be kept: \(error)"))
          }
          kept.value = Self.names(in: folder)
        }
      }
    }
  }

  /// Moves a file's content into the folder. Its name is its user's, so it only is a part of that there. The
  /// end has the extension; file systems take 255 bytes.
  private static func keep(_ file: Upload.File, of upload: Upload, in folder: URL) throws {
    guard let path = file.path else { return }
    var end = file.name
    while end.utf8.count > 200 { end.removeFirst() }
    let name = "\(UUID().uuidString.prefix(8)) \(end)"
    try FileManager.default.moveItem(
      at: URL(filePath: path), to: folder.appending(path: name))
    upload.remove(file.id)
  }

  private static func names(in folder: URL) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    // Without the folder of files that are not kept yet.
    return Array(names.filter { !$0.hasPrefix(".") }.sorted().prefix(1_000))
  }
}
