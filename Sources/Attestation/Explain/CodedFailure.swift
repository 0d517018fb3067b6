/// A reason to refuse an object, with one word for logs and metrics and a sentence for people.
package protocol CodedFailure: Error, CustomStringConvertible {
    /// The word, from a closed set.
    var code: String { get }
}
