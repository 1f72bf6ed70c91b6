package net.adocd.examples.flink;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Keeps the latest statement of each account. Each of its subtasks has a RocksDB of its own. */
public class Balances extends KeyedProcessFunction<Long, Statement, Void> {
    private static final long serialVersionUID = 1;

    private transient ValueState<byte[]> latest;

    @Override
    public void open(OpenContext context) {
        latest = getRuntimeContext().getState(
            new ValueStateDescriptor<>("latest", PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
    }

    @Override
    public void processElement(Statement statement, Context context, Collector<Void> out) throws Exception {
        long began = System.nanoTime();
        latest.update(statement.content); // in a stall it is this that waits
        Puts.took(System.nanoTime() - began);
    }
}
