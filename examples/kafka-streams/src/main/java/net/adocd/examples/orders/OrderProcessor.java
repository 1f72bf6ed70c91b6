package net.adocd.examples.orders;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/** Keeps the newest order of each customer, in the one of the task's stores that is the customer's. */
final class OrderProcessor implements Processor<Long, byte[], Void, Void> {
    private final List<String> names;
    private final Meter meter;
    private final List<KeyValueStore<Long, byte[]>> stores = new ArrayList<>();

    OrderProcessor(List<String> names, Meter meter) {
        this.names = names;
        this.meter = meter;
    }

    @Override
    public void init(ProcessorContext<Void, Void> context) {
        names.forEach(name -> stores.add(context.getStateStore(name)));
    }

    @Override
    public void process(Record<Long, byte[]> order) {
        KeyValueStore<Long, byte[]> store = stores.get((int) (order.key() % stores.size()));
        long startedNanos = System.nanoTime();
        store.put(order.key(), order.value());
        meter.put(System.nanoTime() - startedNanos);
    }
}
