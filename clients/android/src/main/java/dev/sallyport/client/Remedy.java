package dev.sallyport.client;

import java.io.IOException;

/** What an enrolment does about a failure. */
enum Remedy {
    /** The key is useless. */
    NEW_KEY,
    /** The state is kept, and tried again after a while. */
    WAIT,
    /** Nothing that the client does can change it. */
    GIVE_UP;

    static Remedy of(IOException error) {
        if (error instanceof KeyException) {
            switch (((KeyException) error).kind) {
                case LOST:
                    return NEW_KEY;
                case UNSUPPORTED:
                    return GIVE_UP;
                default:
                    return WAIT;
            }
        }
        if (error instanceof ClientException.Refused) {
            Refusal refusal = ((ClientException.Refused) error).refusal;
            if (refusal.action == Refusal.Action.RETRY_LATER) {
                return WAIT;
            }
            return refusal.asksForProof() ? NEW_KEY : GIVE_UP;
        }
        if (error instanceof ClientException.UnexpectedAnswer) {
            return WAIT;
        }
        boolean isCancelled = Thread.currentThread().isInterrupted();
        return error instanceof ClientException || isCancelled ? GIVE_UP : WAIT;
    }
}
