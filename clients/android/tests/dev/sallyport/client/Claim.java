package dev.sallyport.client;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** A test, by what it claims. */
@Retention(RetentionPolicy.RUNTIME)
@interface Claim {
    String value();
}
