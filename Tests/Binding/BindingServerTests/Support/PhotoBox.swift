#if BindingServer
  import Binding
  import BindingServer
  import Foundation
  import Reactive

  /// A view model that takes files.
  final class PhotoBox: ViewModel {
    let photos: Upload
    let note = MutableProperty("")

    static let bindings: Bindings<PhotoBox> = [
      "photos": .upload(\.photos), "note": .twoWay(\.note),
    ]

    init(byteCountMax: Int = 8_000_000, countMax: Int = 9, types: [String] = []) {
      photos = Upload(byteCountMax: byteCountMax, countMax: countMax, types: types)
    }

    /// The content of each whole file, in order; nil for others.
    var contents: [Data?] {
      photos.files.value.map { $0.path.flatMap { FileManager.default.contents(atPath: $0) } }
    }

    nonisolated static let site = Site.files([
      "album.html": Array(
        """
        <!doctype html>
        <html data-page="album">
        <meta charset="utf-8">
        <title>PhotoBox</title>
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="/binding.css">
        <script type="module" src="/binding.js"></script>
        <input id="photos" type="file" multiple data-upload="photos">
        <input id="note" data-bind="note">
        <p id="why" data-text="photos.error"></p>
        <p id="busy" data-show="photos.receiving">…</p>
        <ul>
          <template data-each="photos">
            <li data-attr="title:name"><progress max="1" data-attr="value:progress"></progress>
              <i data-text="receivedByteCount"></i> <b data-text="error"></b>
              <s data-show="isReceived">whole</s>
              <button data-on="click:photos.cancel" data-arg="id">x</button></li>
          </template>
        </ul>
        """.utf8)
    ])
  }
#endif
