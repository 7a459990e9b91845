# Test data: the script and the environment of "Kernel / Apache Hadoop benchmark with MGLRU" (Hadoop 3.3.1, Linux 5.15;
# metrics at github.com/ediworks/KernelPerf, mglru/hadoop/5.15). Host of the report: 48 CPUs, 256 GB, 64 GiB swap,
# vm.swappiness 1, vm.overcommit_memory 1, 100,000,000 rows. <a, b> are the values of its conditions.
export HADOOP_ROOT_LOGGER="WARN,DRFA"
export HADOOP_HEAPSIZE_MAX=<swapoff: 20G, swapon: 22G>
for ((i = 0; i < 12; i++))
do
    /usr/bin/time -f "%e" hadoop jar \
    hadoop-mapreduce-examples-3.3.1.jar terasort \
    -Dfile.stream-buffer-size=8388608 \
    -Dio.file.buffer.size=8388608 \
    -Dmapreduce.job.heap.memory-mb.ratio=1.0 \
    -Dmapreduce.reduce.input.buffer.percent=1.0 \
    -Dmapreduce.reduce.merge.inmem.threshold=0 \
    -Dmapreduce.task.io.sort.factor=100 \
    -Dmapreduce.task.io.sort.mb=1000 \
    -Dmapreduce.terasort.final.sync=false \
    -Dmapreduce.terasort.num.partitions=100 \
    -Dmapreduce.terasort.partitions.sample=1000000 \
    -Dmapreduce.local.map.tasks.maximum=<2, 4, 8> \
    -Dmapreduce.local.reduce.tasks.maximum=<2, 4, 8> \
    -Dmapreduce.reduce.shuffle.parallelcopies=<2, 4, 8> \
    -Dhadoop.tmp.dir=/mnt/data/tmp$i \
    /mnt/data/raw /mnt/data/sorted$i
done
wait
