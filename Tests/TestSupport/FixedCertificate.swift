/// A certificate for tests that need one and no TLS. A `TestAuthority` needs OpenSSL, which a Mac or a simulator may not have.
package enum FixedCertificate {
    package static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIBmDCCAT+gAwIBAgIUOgoFeOZCmp7zNQZy63D2mqaMTlYwCgYIKoZIzj0EAwIw
        ITEfMB0GA1UEAwwWTmVzcyBmaXhlZCBjZXJ0aWZpY2F0ZTAgFw0yNjExMjYwMzUx
        MTFaGA8yMTI2MTEwMjAzNTExMVowITEfMB0GA1UEAwwWTmVzcyBmaXhlZCBjZXJ0
        aWZpY2F0ZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPomJ0qA0yeV7l08w3bd
        1YvazLnsRudhoqs12WXkKAig5YcaeiWnk/INSGFllJaxGmDsdseviA/dHPIAJI1Q
        baCjUzBRMB0GA1UdDgQWBBROQ6MICMromyvrwMu5G+cH3+t5VTAfBgNVHSMEGDAW
        gBROQ6MICMromyvrwMu5G+cH3+t5VTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
        BAMCA0cAMEQCIDCP4LhejYIjdwiVCjdqoOod/JnBHKjTeYYwJ5w+qMxAAiBFaKgo
        kAtM2Jq9b17/R7aBGHfz/B4PhW94YXQl6gdv3Q==
        -----END CERTIFICATE-----

        """

    /// The SHA-256 hash of its public key, as `openssl` prints it.
    package static let publicKeyHash = "MOPAric1j2+tblu1++kHbccAtFYDNJv4bWjGLryesVs="
}
