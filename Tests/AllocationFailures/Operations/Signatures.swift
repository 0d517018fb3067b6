import Bytes
import Crypto

extension Operation {
    static func signatures(_ inputs: Inputs) throws -> [Operation] {
        let key = inputs.leafKey
        let message = Array("signed".utf8)
        let other = Array("changed".utf8)
        let signature = try key.sign(message)
        guard let raw = P256Signature(strictDER: signature.span) else {
            throw CryptoError.failed("signing")
        }
        let scalar = try P256PrivateKey(pem: key.pem())
        let pem = try key.pem()
        func isValid(_ message: [UInt8]) throws -> Bool {
            var verifier = try P256Verifier()
            return verifier.isValid(
                signature: signature.span, message: message.span, key: key.publicKey)
        }
        func isStrict(_ made: [UInt8]) -> Bool { P256Signature(strictDER: made.span) != nil }
        return [
            Operation("signature: valid") { .good { try isValid(message) } },
            Operation("signature: of another message") { .bad { try isValid(other) } },
            Operation("signature: a verifier goes from key to key") {
                .good {
                    var verifier = try P256Verifier()
                    let stranger = P256PublicKey(x: key.publicKey.y, y: key.publicKey.x)
                    guard
                        !verifier.isValid(
                            signature: signature.span, message: message.span, key: stranger)
                    else { return false }
                    return verifier.isValid(
                        signature: signature.span, message: message.span, key: key.publicKey)
                }
            },
            Operation("signature: made") {
                .good { try isStrict(key.sign(message)) }
            },
            Operation("signature: DER read") {
                guard let read = P256Signature(der: signature) else { return .refused }
                return read == raw ? .right : .wrong("another signature")
            },
            Operation("signature: DER written") { .same(as: signature) { try raw.der() } },
            Operation("private key: read") {
                .same(as: scalar.publicKey) { try P256PrivateKey(pem: pem).publicKey }
            },
            Operation("private key: written") { .same(as: pem) { try key.pem() } },
            Operation("private key: generated") {
                .good { try !P256PrivateKey.generate().pem().isEmpty }
            },
        ]
    }
}
