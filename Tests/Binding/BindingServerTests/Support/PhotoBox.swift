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

    /// Boxes as the rows of a list, each with its files.
    final class Shelf: ViewModel, Identifiable {
      final class Row: ViewModel, Identifiable {
        let id: String
        let photos: Upload
        static let bindings: Bindings<Row> = ["id": .value(\.id), "photos": .upload(\.photos)]

        init(_ id: String, byteCountMax: Int = 8_000_000) {
          self.id = id
          photos = Upload(byteCountMax: byteCountMax, countMax: 9)
        }
      }

      let id: String
      let boxes: MutableProperty<[Row]>
      static let bindings: Bindings<Shelf> = ["boxes": .list(\.boxes)]

      init(_ id: String, _ boxes: [Row]) {
        self.id = id
        self.boxes = MutableProperty(boxes)
      }

      /// Shelves as the rows of a list, with boxes as their rows.
      final class Rack: ViewModel {
        let shelves: MutableProperty<[Shelf]>
        static let bindings: Bindings<Rack> = ["shelves": .list(\.shelves)]

        init(_ shelves: [Shelf]) { self.shelves = MutableProperty(shelves) }
      }

      nonisolated static let rackSite = Site.files([
        "rack.html": Array(
          """
          <!doctype html>
          <html data-page="rack">
          <meta charset="utf-8">
          <title>Rack</title>
          <link rel="icon" href="data:,">
          <script type="module" src="/binding.js"></script>
          <template data-each="shelves">
            <article>
              <template data-each="boxes">
                <section data-attr="title:id">
                  <input type="file" multiple data-upload="photos">
                  <template data-each="photos">
                    <p data-attr="title:name"><b data-text="progress"></b>
                      <button data-on="click:photos.cancel" data-arg="id">x</button></p>
                  </template>
                </section>
              </template>
            </article>
          </template>
          """.utf8)
      ])

      nonisolated static let site = Site.files([
        "shelf.html": Array(
          """
          <!doctype html>
          <html data-page="shelf">
          <meta charset="utf-8">
          <title>Shelf</title>
          <link rel="icon" href="data:,">
          <script type="module" src="/binding.js"></script>
          <template data-each="boxes">
            <section data-attr="title:id">
              <input type="file" multiple data-upload="photos">
              <p data-text="photos.error"></p>
              <ul>
                <template data-each="photos">
                  <li data-attr="title:name"><progress max="1" data-attr="value:progress"></progress>
                    <b data-text="error"></b>
                    <button data-on="click:photos.cancel" data-arg="id">x</button></li>
                </template>
              </ul>
            </section>
          </template>
          """.utf8)
      ])
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
