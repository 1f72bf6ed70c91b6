package net.adocd.examples.flink;

import java.util.SplittableRandom;

/** What a payment leaves of an account: the account's statement, signed, so that it does not compress. */
public class Statement {
    public long account;
    public byte[] content;

    /** For Flink, which fills the fields. */
    public Statement() { }

    /** The statement after the payment of this number, of an account that is drawn at random. */
    static Statement after(long payment, long accounts, int bytes) {
        SplittableRandom random = new SplittableRandom(payment);
        Statement made = new Statement();
        made.account = random.nextLong(accounts);
        made.content = new byte[bytes];
        random.nextBytes(made.content);
        return made;
    }
}
